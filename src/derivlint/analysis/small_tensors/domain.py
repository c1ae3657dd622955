"""The domain of small tensors: primitives, operators and definitions over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from msgspec.structs import replace

from derivlint.analysis.scalar_evaluation import domain as scalar_evaluation
from derivlint.analysis.scalar_evaluation.functions.table import TABLE as OF_ELEMENTS
from derivlint.analysis.scalar_evaluation.functions.table import Implementation
from derivlint.analysis.scalar_evaluation.values import (
    BOOL,
    INTEGER,
    OPAQUE,
    REAL,
    MetadataToken,
    UnknownValueError,
    cast,
    real_only,
    scalar_type,
)
from derivlint.analysis.scalar_evaluation.vocabulary import BINARY as BINARY_OF_ELEMENTS
from derivlint.analysis.scalar_evaluation.vocabulary import UNARY as UNARY_OF_ELEMENTS
from derivlint.analysis.small_tensors import convolutions as _convolutions
from derivlint.analysis.small_tensors import index_ops as _index_ops
from derivlint.analysis.small_tensors import matrices as _matrices
from derivlint.analysis.small_tensors import pools as _pools
from derivlint.analysis.small_tensors import products as _products
from derivlint.analysis.small_tensors import reduce_ops as _reduce_ops
from derivlint.analysis.small_tensors import spectra as _spectra
from derivlint.analysis.small_tensors import view_ops as _view_ops
from derivlint.analysis.small_tensors import windows as _windows
from derivlint.analysis.small_tensors.tensor import (
    TABLE,
    SmallTensor,
    Value,
    broadcast_map,
    filled,
    number_of,
    sizes_of,
    tensor_of,
)
from derivlint.analysis.small_tensors.view_ops import sum_to
from derivlint.formula import analysis
from derivlint.operators.reference.definitions import DefinitionKind, definitions
from derivlint.operators.reference.interpretation import Domain, InterpretationError, Interpreter, Primitive
from derivlint.operators.shapes import size_functions as sizes_by
from derivlint.operators.shapes.size_values import Sizes, SizesError
from derivlint.operators.shapes.sizes import METHODS, saved_property, written_sizes

#: The modules that register operators in the table.
FILLED_BY = (_view_ops, _index_ops, _products, _matrices, _reduce_ops, _windows, _convolutions, _pools, _spectra)
#: The errors that evaluation may raise.
FAILURES = (SizesError, UnknownValueError, *analysis.FAILURES)


def type_of(value: Value) -> MetadataToken:
    """The dtype of a tensor."""
    if type(value) is SmallTensor:
        return scalar_type(value.items[0]) if len(value.items) else REAL
    return scalar_type(value)


def converted(value: Value, target: Value) -> Value:
    """Convert a tensor to another dtype."""
    if target is REAL and type_of(value) in (BOOL, INTEGER):
        return broadcast_map(float, value)
    if target is OPAQUE or target is None or target is type_of(value):
        return value
    return broadcast_map(lambda item: cast(item, target), value)


def _refuse(*_: Value) -> Value:
    raise UnknownValueError


def _sized(read: Callable[..., Value]) -> Callable[..., Value]:
    return lambda *values: read(*map(sizes_of, values))


def _equal(left: Value, right: Value) -> Value:
    return left == right


def _by_sizes(symbol: str) -> Callable[[Value, Value], Value]:
    operate = BINARY_OF_ELEMENTS[symbol]

    def function(left: Value, right: Value) -> Value:
        if type(left) is tuple and type(right) is tuple and symbol in ("==", "!="):
            return operate(left, right)
        return broadcast_map(operate, left, right)

    return function


UNARY: Mapping[str, Callable[[Value], Value]] = {
    **{symbol: partial(broadcast_map, operate) for symbol, operate in UNARY_OF_ELEMENTS.items()},
    "*": UNARY_OF_ELEMENTS["*"],
    "-": lambda value: (
        tuple(-tensor for tensor in value) if type(value) is tuple else broadcast_map(UNARY_OF_ELEMENTS["-"], value)
    ),
}
BINARY: Mapping[str, Callable[[Value, Value], Value]] = {symbol: _by_sizes(symbol) for symbol in BINARY_OF_ELEMENTS}


def _like(element: Value) -> Callable[..., Value]:
    return lambda tensor, *_: filled(tensor_of(tensor).sizes, element)


def _identity(rows: int, columns: int, *_: Value) -> SmallTensor:
    return SmallTensor(Sizes((rows, columns)), [float(row == at) for row in range(rows) for at in range(columns)])


def _only(dims: Value) -> Value:
    if type(dims) is not tuple:
        return dims
    (dim,) = dims
    return dim


#: The primitives of definitions.
PRIMITIVES: dict[str, Primitive] = {
    **{name: scalar_evaluation.PRIMITIVES[name] for name in ("refuse", "make_tuple", "defined", "value_or", "Tensor")},
    "handle_r_to_c": Primitive(lambda first, second=None: first if second is None else second),
    "unreduced": Primitive(_reduce_ops.unreduced),
    "count": Primitive(sizes_by.count),
    "sum_over": Primitive(lambda tensor, dims, keepdim=False: _reduce_ops.reduced(sum, tensor, dims, keepdim)),
    "mean_over": Primitive(lambda tensor, dims: _reduce_ops.reduced(_reduce_ops.mean_of, tensor, dims, True)),
    "halves": Primitive(_reduce_ops.halves),
    "products_of_others": Primitive(_reduce_ops.products_of_others),
    "other_dims": Primitive(_sized(sizes_by.other_dims)),
    "last_dims": Primitive(lambda sizes: tuple(range(-len(sizes), 0))),
    "freedom": Primitive(lambda count, correction: max(0.0, count - correction)),
    "by_channel": Primitive(_reduce_ops.by_channel),
    "is_vector": Primitive(_sized(sizes_by.is_vector)),
    "only": Primitive(_only),
    "last_given": Primitive(lambda first, second=None: first if second is None else second),
    "zeros": Primitive(lambda sizes, *_: filled(sizes, 0.0)),
    "full": Primitive(lambda sizes, value, *_: filled(sizes, float(number_of(value)))),
    "eye": Primitive(_identity),
    "zeros_like": Primitive(_like(0.0)),
    "ones_like": Primitive(_like(1.0)),
    "nan_like": Primitive(_like(math.nan)),
    "is_number": Primitive(lambda value: type(value) is not SmallTensor),
    "is_complex_tensor": Primitive(lambda value: False),
    "equal": Primitive(_equal),
    "conj": Primitive(lambda value: value, takes=1),
    "sizes": Primitive(lambda tensor: tuple(tensor_of(tensor).sizes)),
    "size": Primitive(_sized(sizes_by.size)),
    "numel": Primitive(_sized(sizes_by.numel)),
    "dim": Primitive(_sized(sizes_by.rank)),
    "scalar_type": Primitive(type_of),
    "options": Primitive(type_of),
    "sum_to": Primitive(sum_to),
    "to": Primitive(converted, takes=2),
}


@lru_cache(maxsize=4096)
def is_lifted(name: str) -> bool:
    """Whether an operator is elementwise, so that its result has the broadcast sizes."""
    sizes = written_sizes().get(name)
    if sizes is None or name in TABLE:
        return False
    if name not in OF_ELEMENTS and definitions().get(name) is None:
        return False
    first = sizes.parameters[0] if sizes.parameters else ""
    formula = sizes.formulas[-1][1]
    return formula in (first, f"make_tuple({first}, {first})") or formula.startswith("broadcast(")


@lru_cache(maxsize=4096)
def is_elementwise(name: str) -> bool:
    """Whether an operator or helper is elementwise, judging by its definition."""
    if is_lifted(name) or name in PRIMITIVES:
        return name not in _OF_SEVERAL
    definition = definitions().get(name)
    if definition is None or name in TABLE:
        return False
    return name not in definition.called and all(map(is_elementwise, definition.called))


#: The primitives that depend on sizes.
_OF_SEVERAL = frozenset(
    {
        *("unreduced", "count", "sum_over", "mean_over", "halves", "products_of_others", "other_dims", "last_dims"),
        *("by_channel", "is_vector", "zeros", "full", "eye", "sizes", "size", "numel", "dim", "sum_to"),
    }
)


class SmallTensors(Domain):
    """The domain of small tensors and numbers."""

    def __init__(self) -> None:
        self.unary = UNARY
        self.binary = BINARY

    def primitive(self, name: str) -> Primitive | None:
        """A primitive; operators that move elements take precedence over their definition."""
        primitive = PRIMITIVES.get(name)
        return self.operator(name) if primitive is None and name in TABLE else primitive

    def operator(self, name: str) -> Primitive | None:
        """An operator of the table, or a lifted one."""
        implementation = _operator_named(name)
        return None if implementation is None else implementation.primitive()

    def number(self, text: str) -> Value:
        """The value of a C++ number."""
        return scalar_evaluation.INTERPRETER.domain.number(text)


@lru_cache(maxsize=4096)
def lifted(name: str) -> Implementation | None:
    """Lift an operator on elements to tensors."""
    implementation = OF_ELEMENTS.get(name)
    if implementation is None:
        return None
    run, function = implementation.run, implementation.function

    def lifted_run(values: Mapping[str, Value]) -> Value:
        names = tuple(values)
        if names == implementation.parameters[: len(names)]:
            return lifted_function(*values.values())
        return broadcast_map(lambda *items: run(dict(zip(names, items, strict=True))), *values.values())

    def lifted_function(*values: Value) -> Value:
        return broadcast_map(function, *values)

    return replace(implementation, function=lifted_function, run=lifted_run)


def _operator_named(name: str) -> Implementation | None:
    implementation = TABLE.get(name)
    return lifted(name) if implementation is None and is_lifted(name) else implementation


INTERPRETER = Interpreter(SmallTensors())


@lru_cache(maxsize=4096)
def implementation_named(name: str) -> Implementation | None:
    """The implementation of an operator or helper, or None if unknown."""
    implementation = _operator_named(name)
    if implementation is not None:
        return implementation
    definition = definitions().get(name)
    if definition is None or definition.kind is DefinitionKind.PART:
        return None
    try:
        return scalar_evaluation.defined(INTERPRETER, name)
    except InterpretationError:
        return None


#: Methods that read metadata.
METADATA: Mapping[str, Callable[[Value], Value]] = {
    **{
        name: _sized(METHODS[name])
        for name in ("sizes", "sym_sizes", "numel", "sym_numel", "dim", "defined", "has_value", "is_contiguous")
    },
    **{name: _sized(METHODS[name]) for name in ("is_complex", "isComplex", "is_cuda", "is_xpu", "is_sparse", "is_cpu")},
    **dict.fromkeys(("scalar_type", "dtype", "options"), type_of),
    **dict.fromkeys(("device", "layout", "strides", "sym_strides", "suggest_memory_format"), lambda _: OPAQUE),
    **dict.fromkeys(("toDouble", "toFloat"), real_only),
    "zeros": lambda value: filled(sizes_of(value), 0.0),
    "back": lambda value: value[-1],
}


def property_of(name: str) -> tuple[str, Callable[[Value], Any] | None]:
    """The variable of a saved property and the function that reads the property."""
    owner, read = saved_property(name)
    if read is None:
        return owner, None
    if name.endswith(("_options", "_scalar_type")):
        return owner, type_of
    if name.endswith(("_info", "_geometry")):
        return owner, _same
    return owner, lambda value: read(sizes_of(value))


def _same(value: Value) -> Value:
    return value
