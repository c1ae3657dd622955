"""Deterministic points for comparing formulas: values for the arguments of an operator.

Values look arbitrary on purpose: they avoid kinks of operators, each other, and numbers such as 1 at which different
formulas agree.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache, lru_cache

from derivlint.analysis.scalar_evaluation.signature import signature_of
from derivlint.analysis.scalar_evaluation.values import COMPLEX, OPAQUE, REAL, Value
from derivlint.analysis.scalar_evaluation.vocabulary import GRAD_MODE
from derivlint.formula.vocabulary import words
from derivlint.model import Differentiability
from derivlint.schema import Argument, ListType, NativeFunction
from derivlint.source.lazy import memoized
from derivlint.source.records import Choice

#: The number of points of each kind.
POINTS = 8
MASKS = words("mask condition is_target")
POSITIONS = words("index indices pivots LU_pivots offsets lengths target targets")
#: Names of integers that are 0, the first index; all others are 1, a count or a factor.
ZEROS = words("""
    dim dim0 dim1 dimension axis start index offset storage_offset diagonal decimals padding_idx interpolation_mode
    padding_mode quant_min
""")
#: Names of scalars that may be complex.
COEFFICIENTS = words("alpha beta value other weight exponent self")
#: Values of scalars without default, near values of tensors.
USUAL = {"min": -0.6, "max": 0.7, "delta": 0.9, "beta": 0.8, "eps": 0.2, "epsilon": 0.2}
#: Values of thresholds, with tensor values on both sides.
BOUNDS = {"lambd": (0.9, 0.4), "threshold": (2.9, 0.4)}
#: Saved values that equal an argument: the mean of one number, the sum of one weight.
COMPUTED = {"mean": "input", "save_mean": "input", "total_weight": "weight"}
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
#: The ranges of tensors at each point: of the first, third, ... argument, and of the others.
RANGES = (
    ((0.2, 0.8), (0.2, 0.8)),
    ((-0.8, -0.5), (0.2, 0.5)),
    ((1.1, 2.2), (2.1, 3.9)),
    ((0.2, 0.8), (-0.8, -0.2)),
    ((2.3, 3.9), (0.3, 0.9)),
    ((-3.9, -2.3), (-3.9, -3.1)),
    ((0.2, 0.8), (1.2, 2.2)),
    ((-2.2, -1.1), (1.2, 2.2)),
)
_GOLDEN = 0.6180339887498949


class NumberKind(Choice):
    """The kinds of numbers at a point."""

    REAL = "real"
    COMPLEX = "complex"
    #: some tensors are real and some complex
    MIXED = "mixed"


def _fraction(point: int, position: int, salt: int = 0) -> float:
    """A pseudorandom number from 0 to 1."""
    return ((7 * point + 3 * position + 13 * salt + 1) * _GOLDEN) % 1.0


@cache
def _magnitude(point: int, position: int) -> float:
    u = _fraction(point, position)
    low, high = RANGES[point][position % 2]
    return round(low + (high - low) * u, 2) + 0.001 * (1 + 2 * position)


@cache
def _complex_number(point: int, position: int, salt: int) -> complex:
    """A pseudorandom complex number of absolute value around 1; both parts have two or three digits."""
    real = 0.3 + 0.9 * _fraction(point, position, salt)
    imaginary = 0.3 + 0.9 * _fraction(point, position, salt + 1)
    quadrant = (point + position + salt) % 4
    return complex(
        round(real, 2) * (-1 if quadrant in (1, 2) else 1), round(imaginary, 2) * (-1 if quadrant > 1 else 1)
    )


@cache
def seed_value(point: int, position: int, *, is_complex: bool) -> Value:
    """A gradient or tangent at a point."""
    if is_complex:
        return _complex_number(point, position, 5)
    sign = -1 if (point + position) % 3 == 1 else 1
    return sign * round(0.4 + 1.3 * _fraction(point, position, 3), 2)


class PointArguments:
    """The arguments of a function, which have values at each point."""

    def __init__(self, function: NativeFunction, differentiable: Collection[str]) -> None:
        self._arguments: list[tuple[Argument, bool, str, ListType | None]] = []
        for argument in function.schema.arguments.flat_non_out:
            if function.name.is_foreach and isinstance(argument.type, ListType):
                # one element stands for the list
                argument = Argument(argument.name, argument.type.elem)
            row = (argument, argument.name in differentiable, str(argument.type.base), argument.type.is_list_like)
            self._arguments.append(row)

    def at(self, kind: NumberKind, point: int) -> dict[str, Value]:
        """The values of the arguments, without those for which there is no suitable value."""
        values: dict[str, Value] = {GRAD_MODE: point % 2 == 0}
        for position, (argument, is_differentiable, base, is_list) in enumerate(self._arguments):
            if base == "Tensor":
                value = _element(argument.name, is_list, is_differentiable, kind, point, position)
            else:
                value = _value(argument, base, is_list, kind, point, position)
            if value is not None or argument.type.is_nullable:
                values[argument.name] = value
        for name, source in COMPUTED.items():
            if name in values and source in values:
                values[name] = values[source]
        return values


@memoized
def point_arguments(differentiability: Differentiability) -> PointArguments:
    """The arguments of a differentiable function."""
    return PointArguments(differentiability.function, signature_of(differentiability).inputs)


def arguments_at(
    function: NativeFunction, differentiable: Collection[str], kind: NumberKind, point: int
) -> dict[str, Value]:
    """The values for a function's arguments, without those for which there is no suitable value."""
    return PointArguments(function, differentiable).at(kind, point)


def _element(
    name: str, is_list: ListType | None, is_differentiable: bool, kind: NumberKind, point: int, position: int
) -> Value:
    """The value of a tensor, or of the only tensor of a list."""
    if not is_differentiable:
        if is_list is not None:
            return None
        if name in MASKS:
            return _fraction(point, position) > 0.4
        if name in POSITIONS:
            return 0
    if kind is NumberKind.COMPLEX or (kind is NumberKind.MIXED and (point + position) % 2 == 1):
        return _complex_number(point, position, 0)
    return _magnitude(point, position)


def _value(
    argument: Argument, base: str, is_list: ListType | None, kind: NumberKind, point: int, position: int
) -> Value:
    type_ = argument.type
    if is_list is not None:
        return _list(argument.name, base, is_list)
    if base == "Scalar" or base == "float":
        return _scalar(argument, base, kind, point, position)
    if base in ("int", "SymInt"):
        return None if type_.is_nullable else _integer(argument, point)
    if base == "bool":
        if type_.is_nullable:
            return (True, False, None)[point % 3]
        return _fraction(point, position, 1) > 0.5
    if base == "str":
        return _text(argument, point)
    if base == "ScalarType":
        return None if type_.is_nullable else REAL if kind is NumberKind.REAL else COMPLEX
    return None if type_.is_nullable else OPAQUE


def _list(name: str, base: str, kind: ListType) -> Value:
    if base == "bool":
        return (True,) * (kind.size or 1)
    if name in ("dim", "dims", "pad", "padding", "output_padding", "shifts"):
        return (0,)
    return (1,)


def _scalar(argument: Argument, base: str, kind: NumberKind, point: int, position: int) -> Value:
    name = argument.name
    if name == "dropout_p":
        return 0.0
    if name == "correction":
        return (0.5, 0.25, 0)[point % 3]
    u = _fraction(point, position, 2)
    default = _number(argument.default)
    if kind is not NumberKind.REAL and base == "Scalar" and name in COEFFICIENTS:
        return _complex_number(point, position, 0)
    if argument.type.is_nullable and name == "eps":
        return (0.05, None)[point % 2]
    if argument.type.is_nullable and name not in ("p", "ord", "min", "max"):
        return None
    if name == "p" and base == "float":
        return round(0.2 + 0.5 * u, 2)
    if name in ("p", "ord"):
        return (2.0, 1.5, 3.0, 1.0)[point % 4]
    if name == "exponent":
        return (2.5, 3.0, 1.7, 2.0, -1.5, -1.0, 0.4, 3.4)[point]
    if name in BOUNDS:
        return BOUNDS[name][point % 2]
    if default is None:
        default = USUAL.get(name)
    if default is None:
        return _magnitude(point, position)
    if point % 3 == 0 and argument.default is not None:
        return float(default)
    return round(default * (0.8 + 0.4 * u) if default else 0.1 + 0.3 * u, 3)


def _integer(argument: Argument, point: int) -> int:
    if argument.name == "reduction":
        return point % 3
    if argument.name == "n":
        return 1 + point % 3
    if argument.name == "p":
        return 1 + point % 2
    default = _number(argument.default)
    if default is not None and math.isfinite(default):
        return int(default)
    return 0 if argument.name in ZEROS else 1


def _text(argument: Argument, point: int) -> Value:
    if argument.name == "approximate":
        return ("none", "tanh")[point % 2]
    if argument.name == "reduce":
        return REDUCTIONS[point % len(REDUCTIONS)]
    if argument.name == "rounding_mode":
        return ("floor", "trunc")[point // 3] if point % 3 == 2 and point < 6 else None
    if argument.default is None or argument.type.is_nullable:
        return None
    return argument.default.strip("'\"")


@lru_cache(maxsize=4096)
def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return None
