"""The sizes of results of operators and helpers, as functions of the sizes of their arguments.

Reference definitions are evaluated over sizes. Functions without a definition have a line in ``data/shapes.txt``, in
the language of definitions with the functions of :mod:`derivlint.operators.shapes.size_functions` and
:mod:`derivlint.operators.shapes.window_sizes`:

    diagonal(self, offset = 0, dim1 = 0, dim2 = 1): diagonal(self, offset, dim1, dim2)
    mm(self, mat2): product(of_rank(self, 2), of_rank(mat2, 2))

The parameters are those of the schema that matter, in its order. An indented line continues the one above. A "?" with a
reason in place of the expression means unknown sizes.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

from derivlint.formula import analysis
from derivlint.formula.vocabulary import whole_number, words
from derivlint.operators.reference.definitions import Definition, DefinitionError, DefinitionKind, definitions
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.reference.interpretation import Compiled, Domain, InterpretationError, Interpreter, Primitive
from derivlint.operators.shapes import size_functions as functions
from derivlint.operators.shapes import window_sizes
from derivlint.operators.shapes.size_functions import broadcast
from derivlint.operators.shapes.size_values import (
    OPAQUE,
    SCALAR,
    UNKNOWN,
    IllegalSizesError,
    Sizes,
    SizesError,
    Value,
    bounded,
    careful,
    is_unknown,
)

_FILE = Path(__file__).parents[1] / "data" / "shapes.txt"
_LINE = re.compile(r"(helper )?(\w+(?:, \w+)*) ?\(([^()]*)\): (.+)")
#: A parameter and its default, which may be a list.
_PARAMETER = re.compile(r"(\w+)(?: = (\{[^}]*\}|[^,]+))?")
#: The errors that evaluation may raise.
FAILURES = (SizesError, *analysis.FAILURES)


class SizeFunction(Struct, frozen=True):
    """The size function of an operator or helper.

    Attributes:
        run: the function of values by parameter name, which may be omitted.
        parameters: the names of its parameters.
        required: the number of parameters without default.
        by_position: whether arguments are bound by position, as those of helpers.
    """

    run: Evaluator
    parameters: tuple[str, ...]
    required: int
    by_position: bool


def _lines(text: str) -> Iterator[re.Match[str]]:
    """The unindented lines of a file, joined with their continuations."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("    "):
            lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
        elif line and not line.startswith("#"):
            lines.append(line)
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            raise DefinitionError(f'"{line}" does not say how sizes follow')
        yield match


def read_shapes(text: str) -> Iterator[Definition]:
    """Parse a file of sizes to definitions.

    Raises:
        DefinitionError: a line is malformed.
    """
    for match in _lines(text):
        parameters = _PARAMETER.findall(match[3])
        names = tuple([name for name, _ in parameters])
        defaults = {name: default for name, default in parameters if default}
        formula = "unknown()" if match[4][0] == "?" else match[4]
        kind = DefinitionKind.HELPER if match[1] else DefinitionKind.OPERATOR
        for name in match[2].split(", "):
            yield Definition(kind, name, names, defaults, (("", formula),))


@cache
def written_sizes() -> Mapping[str, Definition]:
    """The lines of ``data/shapes.txt`` by base name.

    Raises:
        DefinitionError: a line is malformed, or a name is repeated.
    """
    by_name: dict[str, Definition] = {}
    for definition in read_shapes(_FILE.read_text(encoding="ascii")):
        if definition.name in by_name:
            raise DefinitionError(f'the sizes of "{definition.name}" are written twice')
        by_name[definition.name] = definition
    return by_name


@lru_cache(maxsize=4096)
def is_broadcasting(name: str) -> bool:
    """Whether every tensor operand is broadcast to the sizes of the result."""
    line = written_sizes().get(name)
    if line is not None:
        formula = line.formulas[-1][1]
        return formula.startswith("broadcast(") or formula in line.parameters[:1]
    definition = definitions().get(name)
    if definition is None:
        return name in _SIZELESS
    return name not in definition.called and all(map(is_broadcasting, definition.called))


#: The primitives that preserve sizes or return no tensor.
_SIZELESS = frozenset(
    words("""
        handle_r_to_c zeros_like nan_like is_number equal conj to is_complex_tensor make_tuple defined scalar_type
        options
    """)
)


@cache
def unsized() -> Mapping[str, str]:
    """The reason why sizes are unknown, by name."""
    matches = _lines(_FILE.read_text(encoding="ascii"))
    return {name: match[4][2:] for match in matches if match[4][0] == "?" for name in match[2].split(", ")}


# ---- the domain


def _elementwise(operate: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    def function(left: Value, right: Value) -> Value:
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        if type(left) is Sizes:
            return left if left == right or type(right) is not Sizes else broadcast(left, right)
        if type(right) is Sizes:
            return right
        if type(left) is tuple or type(right) is tuple:
            raise SizesError
        return operate(left, right)

    return function


def _compared(operate: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    elementwise = _elementwise(operate)

    def function(left: Value, right: Value) -> Value:
        if type(left) is tuple and type(right) is tuple and not is_unknown((left, right)):
            return operate(left, right)
        return elementwise(left, right)

    return function


def _divided(left: Value, right: Value) -> Value:
    if type(left) is int and type(right) is int:
        return int(left / right)
    return left / right


def _negated(value: Value) -> Value:
    if type(value) is tuple:
        return tuple(map(_negated, value))
    return value if type(value) is Sizes or value is UNKNOWN else -value


def _not(value: Value) -> Value:
    return UNKNOWN if value is UNKNOWN else not value


UNARY: Mapping[str, Callable[[Value], Value]] = {
    "-": _negated,
    "+": lambda value: value,
    "!": _not,
    "~": lambda value: value,
    "*": lambda value: value,
}
BINARY: Mapping[str, Callable[[Value, Value], Value]] = {
    **{
        sign: _elementwise(operate)
        for sign, operate in {
            "+": operator.add,
            "-": operator.sub,
            "*": operator.mul,
            "/": _divided,
            "%": operator.mod,
            "<": operator.lt,
            "<=": operator.le,
            ">": operator.gt,
            ">=": operator.ge,
            "&": operator.and_,
            "|": operator.or_,
            "^": operator.xor,
        }.items()
    },
    "==": _compared(operator.eq),
    "!=": _compared(operator.ne),
}
CONSTANTS: Mapping[str, Value] = {
    "true": True,
    "false": False,
    "nullopt": None,
    "nullptr": None,
    "INFINITY": math.inf,
    "at::Reduction::None": 0,
    "at::Reduction::Mean": 1,
    "at::Reduction::Sum": 2,
    "std::nullopt": None,
    "c10::nullopt": None,
    # any number will do
    **dict.fromkeys(
        words("M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 M_LN2 M_LN10 M_LOG2E M_LOG10E M_E"), 1.5
    ),
}


def _refuse(*_: Value) -> Value:
    raise SizesError


def _first(value: Value, *_: Value) -> Value:
    return value


def _opaque(*_: Value) -> Value:
    return OPAQUE


#: The primitives of definitions, for known values.
_KNOWN: Mapping[str, Callable[..., Value]] = {
    "handle_r_to_c": lambda first, second=None: first if second is None else second,
    "unreduced": functions.unreduced,
    "count": functions.count,
    "sum_over": functions.reduced,
    "mean_over": lambda tensor, dims: functions.reduced(tensor, dims, True),
    "sum_to": functions.sum_to,
    "halves": functions.halves,
    "products_of_others": _first,
    "other_dims": functions.other_dims,
    "last_dims": lambda sizes: tuple(range(-len(sizes), 0)),
    "freedom": lambda count, correction: 1.0,
    "by_channel": functions.by_channel,
    "is_vector": functions.is_vector,
    "only": lambda dims: dims if type(dims) is int else dims[0],
    "zeros": lambda sizes, *_: functions.filled(sizes),
    "full": lambda sizes, *_: functions.filled(sizes),
    "eye": lambda rows, columns, *_: Sizes((rows, columns)),
    "zeros_like": _first,
    "nan_like": _first,
    "is_number": lambda value: type(value) is not Sizes,
    "equal": operator.eq,
    "conj": _first,
    "to": _first,
    "sizes": tuple,
    "size": functions.size,
    "numel": functions.numel,
    "dim": functions.rank,
    "is_complex_tensor": lambda value: False,
}
#: The primitives of definitions.
PRIMITIVES: Mapping[str, Primitive] = {
    **{name: Primitive(careful(function)) for name, function in _KNOWN.items()},
    "make_tuple": Primitive(lambda *items: items),
    "last_given": Primitive(lambda first, second=None: first if second is None else second),
    "value_or": Primitive(lambda value, other: other if value is None else value),
    "defined": Primitive(lambda value: UNKNOWN if value is UNKNOWN else value is not None),
    "Tensor": Primitive(lambda: None, takes=0),
    "refuse": Primitive(_refuse, takes=0),
    "scalar_type": Primitive(_opaque, takes=0),
    "options": Primitive(_opaque, takes=0),
}
#: The functions for expressions in ``data/shapes.txt``.
_FUNCTIONS = (
    functions.broadcast,
    functions.broadcast_matrices,
    functions.by_channel,
    functions.chunked,
    window_sizes.columns,
    window_sizes.convolved,
    functions.diagonal,
    functions.diagonal_blocks,
    functions.diagonal_embedded,
    functions.each_sized,
    functions.ending,
    functions.expanded,
    functions.expanding,
    functions.flattened,
    window_sizes.from_columns,
    functions.indexed,
    functions.joined,
    functions.kron,
    functions.leading,
    functions.matmul,
    functions.matrix,
    functions.matrix_transposed,
    functions.numel,
    functions.of_rank,
    window_sizes.padded,
    functions.permuted,
    functions.permuted_back,
    functions.picked,
    window_sizes.pooled,
    functions.product,
    functions.rank,
    functions.reduced,
    functions.repeated,
    functions.reshaped,
    functions.resized,
    functions.same,
    window_sizes.shuffled,
    functions.sized,
    functions.sliced,
    functions.split,
    functions.square,
    functions.squeezed,
    functions.stacked,
    functions.sum_to,
    functions.transposed,
    functions.unbound,
    functions.unfolded,
    functions.unflattened,
    functions.unsqueezed,
    functions.without,
)
_OF_LINES: Mapping[str, Primitive] = {
    **PRIMITIVES,
    **{function.__name__: Primitive(careful(function)) for function in _FUNCTIONS},
    "kept": Primitive(functions.kept),
    "checked": Primitive(functions.checked),
    "unknown": Primitive(lambda: UNKNOWN, takes=0),
}


def _number_like(value: Value, *_: Value) -> Value:
    """The number that a value represents; unknown for a tensor."""
    return UNKNOWN if type(value) is Sizes else value


def _several(count: Value, item: Value = None) -> Value:
    return (item,) * bounded(count) if type(count) is int else count


def _no(*_: Value) -> Value:
    return False


def _given(value: Value = None, *_: Value) -> Value:
    return value


#: Methods of tensors, lists and numbers that need no kernel.
METHODS: Mapping[str, Callable[..., Value]] = {
    **dict.fromkeys(("sizes", "sym_sizes"), careful(tuple)),
    **dict.fromkeys(("size", "sym_size"), careful(functions.size)),
    **dict.fromkeys(("numel", "sym_numel"), careful(functions.numel)),
    "dim": careful(functions.rank),
    "back": careful(lambda items: items[-1]),
    **dict.fromkeys(
        ("scalar_type", "dtype", "options", "device", "layout", "strides", "sym_strides", "suggest_memory_format"),
        _opaque,
    ),
    **dict.fromkeys(("is_complex", "isComplex", "is_cuda", "is_xpu", "is_sparse", "is_mkldnn"), _no),
    **dict.fromkeys(("is_contiguous", "is_cpu", "requires_grad"), lambda *_: True),
    **dict.fromkeys(("defined", "has_value"), lambda value: UNKNOWN if value is UNKNOWN else value is not None),
    **dict.fromkeys(("value", "to", "type_as", "expect_int", "zeros"), _first),
    "value_or": lambda value, other: other if value is None else value,
    **dict.fromkeys(("toDouble", "toFloat", "toComplexDouble"), _number_like),
}
#: C++ functions and constructors that wrap tensors, lists and numbers.
CONVERSIONS: Mapping[str, Callable[..., Value]] = {
    **dict.fromkeys(
        (
            "Tensor",
            "optional",
            "IntArrayRef",
            "SymIntArrayRef",
            "OptionalArrayRef",
            "TensorGeometry",
            "wrap_opt_if",
            "toNonOptTensor",
        ),
        _given,
    ),
    **dict.fromkeys(("Scalar", "SymInt", "double", "float"), _number_like),
    "make_tuple": lambda *items: items,
    "tuple": lambda *items: items or UNKNOWN,
    "handle_r_to_c": lambda first, second=None: first if second is None else second,
    "is_enabled": _no,
    "sum_to": careful(functions.sum_to),
    "vector": careful(_several),
}
#: Saved properties of a variable, by the suffix of their names.
_PROPERTIES: Mapping[str, Callable[[Value], Value]] = {
    **dict.fromkeys(("_sym_sizes", "_sizes"), careful(tuple)),
    "_sym_sizes_opt": careful(lambda value: None if value is None else tuple(value)),
    **dict.fromkeys(("_sym_numel", "_numel"), careful(functions.numel)),
    "_dim": careful(functions.rank),
    **dict.fromkeys(("_geometry", "_info"), _first),
    **dict.fromkeys(("_options", "_scalar_type", "_layout", "_sym_strides", "_args_scalartypes"), _opaque),
    **dict.fromkeys(("_args_sizes_symint", "_args_sizes"), careful(lambda tensors: tuple(map(tuple, tensors)))),
    "_conjugate": _no,
}
#: Longest first, since some suffixes end with others.
_SUFFIXES = tuple(sorted(_PROPERTIES, key=len, reverse=True))
_SIZE = "_sym_argsize_"


@lru_cache(maxsize=4096)
def saved_property(name: str) -> tuple[str, Callable[[Value], Value] | None]:
    """Split the name of a saved property into the variable and the function that reads the property."""
    suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), None)
    if suffix is not None:
        return name.removesuffix(suffix), _PROPERTIES[suffix]
    owner, separator, position = name.partition(_SIZE)
    if not separator:
        return name, None
    # torchgen accepts any word as an index: "sym_size(-self)" is saved as "_sym_argsize_minus_self"
    whole = whole_number(position.removeprefix("minus_"))
    if whole is None:
        return owner, lambda _: UNKNOWN
    dim = -whole if position.startswith("minus_") else whole
    return owner, lambda value: functions.size(value, dim)


def number_of(text: str) -> Value:
    """The value of a C++ number; unknown for unsupported notations."""
    bare = text.rstrip("uUlLfF")
    whole = whole_number(bare)
    if whole is not None:
        return whole
    try:
        return float(bare)
    except ValueError:
        return UNKNOWN


class _SizeDomain(Domain):
    """The domain of sizes in place of tensors."""

    def __init__(self, primitives: Mapping[str, Primitive]) -> None:
        self.constants = CONSTANTS
        self.unary = UNARY
        self.binary = BINARY
        self._primitives = primitives

    def primitive(self, name: str) -> Primitive | None:
        """The size function of a name: a primitive, else what ``data/shapes.txt`` says of the operator."""
        return self._primitives.get(name) or self.operator(name)

    def operator(self, name: str) -> Primitive | None:
        """The operator with a line in ``data/shapes.txt``."""
        definition = _written(name)
        return None if definition is None else definition.primitive

    def number(self, text: str) -> Value:
        """The value of a C++ number."""
        return number_of(text)


INTERPRETER = Interpreter(_SizeDomain(PRIMITIVES))
_LINES = Interpreter(_SizeDomain(_OF_LINES))


@lru_cache(maxsize=4096)
def _written(name: str) -> Compiled | None:
    line = written_sizes().get(name)
    return None if line is None else _LINES.compile(line)


def derived_sizes(name: str) -> SizeFunction | None:
    """The size function derived from a definition, or None."""
    definition = definitions().get(name)
    if definition is None or definition.kind is DefinitionKind.PART:
        return None
    try:
        compiled = INTERPRETER.function(name)
    except InterpretationError:
        return None
    assert compiled is not None, "it is defined"
    call = compiled.call

    def run(values: Mapping[str, Value]) -> Value:
        try:
            return call(values)
        except IllegalSizesError:
            if SCALAR in values.values():
                # definitions treat numbers as tensors
                raise SizesError from None
            raise

    return SizeFunction(run, compiled.parameters, compiled.required, definition.kind is DefinitionKind.HELPER)


@lru_cache(maxsize=4096)
def sizes_named(name: str) -> SizeFunction | None:
    """The size function of a base name, or None."""
    line = _written(name)
    if line is None:
        return derived_sizes(name)
    is_helper = written_sizes()[name].kind is DefinitionKind.HELPER
    return SizeFunction(line.call, line.parameters, line.required, is_helper)
