"""The constants in formulas, with their values and Python names."""

from __future__ import annotations

import math
from typing import NamedTuple

from derivlint.formula import Name


class Constant(NamedTuple):
    """The value of a constant and its Python expression."""

    value: float | None
    python: str


#: Constants by name, without the namespaces of PyTorch and ``std``.
CONSTANTS = {
    "true": Constant(True, "True"),
    "false": Constant(False, "False"),
    "nullptr": Constant(None, "None"),
    "nullopt": Constant(None, "None"),
    "INFINITY": Constant(math.inf, "math.inf"),
    "M_E": Constant(math.e, "math.e"),
    "M_LOG2E": Constant(1 / math.log(2), "(1 / math.log(2))"),
    "M_LOG10E": Constant(1 / math.log(10), "(1 / math.log(10))"),
    "M_LN2": Constant(math.log(2), "math.log(2)"),
    "M_LN10": Constant(math.log(10), "math.log(10)"),
    "M_PI": Constant(math.pi, "math.pi"),
    "M_PI_2": Constant(math.pi / 2, "(math.pi / 2)"),
    "M_PI_4": Constant(math.pi / 4, "(math.pi / 4)"),
    "M_1_PI": Constant(1 / math.pi, "(1 / math.pi)"),
    "M_2_PI": Constant(2 / math.pi, "(2 / math.pi)"),
    "M_2_SQRTPI": Constant(2 / math.sqrt(math.pi), "(2 / math.sqrt(math.pi))"),
    "M_SQRT2": Constant(math.sqrt(2), "math.sqrt(2)"),
    "M_SQRT1_2": Constant(math.sqrt(0.5), "math.sqrt(0.5)"),
    "Reduction::None": Constant(0, "0"),
    "Reduction::Mean": Constant(1, "1"),
    "Reduction::Sum": Constant(2, "2"),
}
#: The scalar types; their values are those of ``c10::ScalarType``.
SCALAR_TYPES = {
    "kInt": Constant(3, "torch.int32"),
    "kLong": Constant(4, "torch.int64"),
    "kHalf": Constant(5, "torch.float16"),
    "kFloat": Constant(6, "torch.float32"),
    "kDouble": Constant(7, "torch.float64"),
    "kBool": Constant(11, "torch.bool"),
    "kBFloat16": Constant(15, "torch.bfloat16"),
}
_NAMESPACES = ("at", "c10", "std")


def plain_spelling(name: Name) -> str:
    """Strip the optional namespace of PyTorch's constants from a name."""
    spelling = name.spelling.removeprefix("::")
    namespace, _, rest = spelling.partition("::")
    return rest if rest and namespace in _NAMESPACES else spelling


def constant_named(name: Name) -> Constant | None:
    """The constant with a name, or None; scalar types are not included."""
    return CONSTANTS.get(name.simple or plain_spelling(name))


def scalar_type_named(name: Name) -> Constant | None:
    """The scalar type with a name such as ``at::kLong``, or None."""
    return SCALAR_TYPES.get(name.simple or plain_spelling(name))
