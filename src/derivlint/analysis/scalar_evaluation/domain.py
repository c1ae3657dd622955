"""The domain of one-element tensors: primitives, operators and definitions over numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from derivlint.analysis.scalar_evaluation.functions import arithmetic as _arithmetic
from derivlint.analysis.scalar_evaluation.functions import elementary as _elementary
from derivlint.analysis.scalar_evaluation.functions import linear_algebra as _linear_algebra
from derivlint.analysis.scalar_evaluation.functions import products as _products
from derivlint.analysis.scalar_evaluation.functions import sampling as _sampling
from derivlint.analysis.scalar_evaluation.functions import surrogates as _surrogates
from derivlint.analysis.scalar_evaluation.functions.structure import handle_r_to_c, ones_like, zeros_like
from derivlint.analysis.scalar_evaluation.functions.table import TABLE, Function, Implementation
from derivlint.analysis.scalar_evaluation.values import (
    COMPLEX,
    REAL,
    SIZES,
    UnknownValueError,
    Value,
    cast,
    conj,
    scalar_type,
)
from derivlint.analysis.scalar_evaluation.vocabulary import BINARY, METADATA, NUMBERS, UNARY
from derivlint.cpp.expressions.inference import number_value
from derivlint.operators.reference.definitions import DefinitionKind, definitions
from derivlint.operators.reference.interpretation import Domain, InterpretationError, Interpreter, Primitive

#: The modules that register functions in the table.
FILLED_BY = (_arithmetic, _elementary, _linear_algebra, _products, _sampling, _surrogates)
#: The suffix of operators whose gradient argument has had several names.
BACKWARD = "_backward"


def _first(value: Value) -> Value:
    return value


def _refuse() -> Value:
    raise UnknownValueError


def _filled(element: Value, options: Value) -> Value:
    return complex(element) if options is COMPLEX else float(element)


def _ignoring(function: Function, *positions: int) -> Primitive:
    return Primitive(function, frozenset(positions))


#: The primitives, in addition to METADATA and the table.
PRIMITIVES: dict[str, Primitive] = {
    "handle_r_to_c": Primitive(handle_r_to_c),
    "unreduced": Primitive(_first, takes=1),
    "count": Primitive(lambda: 1, takes=0),
    "sum_over": Primitive(_first, takes=1),
    "mean_over": Primitive(_first, takes=1),
    "halves": Primitive(_refuse, takes=0),
    "products_of_others": Primitive(ones_like, takes=1),
    "other_dims": Primitive(lambda: (), takes=0),
    "last_dims": Primitive(lambda: (), takes=0),
    "freedom": Primitive(lambda count, correction: max(0.0, count - correction)),
    "by_channel": Primitive(_first, takes=1),
    "is_vector": Primitive(lambda: False, takes=0),
    "only": Primitive(lambda dims: dims[0] if isinstance(dims, tuple) else dims),
    "last_given": Primitive(_first, takes=1),
    "zeros": _ignoring(lambda _, options=REAL: _filled(0.0, options), 0),
    "full": _ignoring(lambda _, value, options=REAL: _filled(value, options), 0),
    "nan_like": Primitive(lambda _: float("nan")),
    "make_tuple": Primitive(lambda *items: items),
    "refuse": Primitive(_refuse, takes=0),
    "is_number": Primitive(lambda: False, takes=0),
    "is_complex_tensor": Primitive(lambda value: scalar_type(value) is COMPLEX),
    "defined": Primitive(lambda value: value is not None),
    "value_or": Primitive(lambda value, fallback: fallback if value is None else value),
    "equal": Primitive(lambda left, right: left == right),
    "conj": Primitive(conj),
    "sizes": Primitive(lambda: SIZES, takes=0),
    "numel": Primitive(lambda: 1, takes=0),
    "dim": Primitive(lambda: 1, takes=0),
    "scalar_type": Primitive(scalar_type),
    "options": Primitive(scalar_type),
    "Tensor": Primitive(lambda: None),
    "eye": _ignoring(lambda *values: _filled(1.0, values[-1]), 0, 1),
    "zeros_like": Primitive(zeros_like, takes=1),
    "sum_to": Primitive(_first, takes=1),
    "to": Primitive(cast, takes=2),
}


class Numbers(Domain):
    """The domain of numbers in place of one-element tensors."""

    def __init__(self) -> None:
        self.unary = UNARY
        self.binary = BINARY

    def primitive(self, name: str) -> Primitive | None:
        """The primitive with a name."""
        primitive = PRIMITIVES.get(name)
        if primitive is not None:
            return primitive
        read: Callable[[Value], Value] | None = METADATA.get(name) or NUMBERS.get(name)
        return None if read is None else Primitive(read, takes=1)

    def operator(self, name: str) -> Primitive | None:
        """The operator with a name in the table."""
        implementation = TABLE.get(name)
        return None if implementation is None else implementation.primitive()

    def number(self, text: str) -> Value:
        """The value of a C++ number."""
        constant = number_value(text).constant
        if constant is None or isinstance(constant, str):
            raise InterpretationError(f'the number "{text}" is not known')
        return constant


INTERPRETER = Interpreter(Numbers())


@lru_cache(maxsize=4096)
def implementation_named(name: str) -> Implementation | None:
    """The implementation of an operator or helper, from the table or by its definition; or None."""
    implementation = TABLE.get(name)
    if implementation is not None:
        return implementation
    definition = definitions().get(name)
    if definition is None or definition.kind is DefinitionKind.PART:
        return None
    try:
        return defined(INTERPRETER, name)
    except InterpretationError:
        return None


def defined(interpreter: Interpreter, name: str) -> Implementation:
    """Compile the definition of an operator or helper.

    Raises:
        InterpretationError: it cannot be evaluated.
    """
    compiled = interpreter.function(name)
    assert compiled is not None, "it is defined"
    names = tuple(parameter if parameter in compiled.absent else f"_{parameter}" for parameter in compiled.parameters)
    declared = compiled.parameters if definitions()[name].kind is DefinitionKind.HELPER else None
    by_position = declared is not None or name.endswith(BACKWARD)
    return Implementation(compiled.primitive.function, compiled.call, names, compiled.required, by_position, declared)
