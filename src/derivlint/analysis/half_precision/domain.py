"""Reference definitions over numbers of half precision.

PyTorch's kernels compute in more digits and round their results, so an operator is one operation. A helper is made of
operators: if it is known to follow its definition, every operation of that rounds. Other helpers are one operation as
well, and lose no more than their arguments have lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from msgspec.structs import replace

from derivlint.analysis.half_precision.values import operation
from derivlint.analysis.scalar_evaluation.domain import INTERPRETER, Numbers, defined, implementation_named
from derivlint.analysis.scalar_evaluation.functions.arithmetic import product
from derivlint.analysis.scalar_evaluation.functions.table import TABLE, Implementation
from derivlint.analysis.scalar_evaluation.values import Value
from derivlint.analysis.scalar_evaluation.vocabulary import BINARY, UNARY
from derivlint.operators import Book
from derivlint.operators.reference.definitions import Definition, DefinitionKind, definitions
from derivlint.operators.reference.interpretation import InterpretationError, Interpreter, Primitive

ROUNDING_UNARY = {op: operation(function) for op, function in UNARY.items()}
ROUNDING_BINARY = {op: operation(function, multiplies=op == "*") for op, function in BINARY.items()}


class Halves(Numbers):
    """Numbers of half precision."""

    def __init__(self) -> None:
        self.unary = ROUNDING_UNARY
        self.binary = ROUNDING_BINARY

    def primitive(self, name: str) -> Primitive | None:
        """A primitive, or a definition that is one operation."""
        primitive = super().primitive(name)
        definition = definitions().get(name)
        if primitive is None and definition is not None and not _is_stepwise(definition):
            compiled = INTERPRETER.function(name)
            primitive = None if compiled is None else compiled.primitive
        return None if primitive is None else _rounding(primitive)

    def operator(self, name: str) -> Primitive | None:
        """An operator of the table."""
        primitive = super().operator(name)
        return None if primitive is None else _rounding(primitive)


_STEPWISE = Interpreter(Halves())


def _rounding(primitive: Primitive) -> Primitive:
    return Primitive(_operation(primitive.function), primitive.ignored, primitive.takes)


def _operation(function: Callable[..., Value]) -> Callable[..., Value]:
    return operation(function, multiplies=function is product)


def _is_stepwise(definition: Definition) -> bool:
    return definition.kind in (DefinitionKind.COMPOSITE, DefinitionKind.PART) or definition.name in Book.by_hand(
        "rounds-as-defined"
    )


@lru_cache(maxsize=4096)
def rounding_implementation_named(name: str) -> Implementation | None:
    """An operator or helper by its name, or None if it is not known."""
    implementation = implementation_named(name)
    definition = None if name in TABLE else definitions().get(name)
    if implementation is None or definition is None or not _is_stepwise(definition):
        return None if implementation is None else _as_one(implementation)
    try:
        return defined(_STEPWISE, name)
    except InterpretationError:
        return None


def _as_one(implementation: Implementation) -> Implementation:
    """An operator or helper as one operation."""

    def run(values: Mapping[str, Value]) -> Value:
        def named(*arguments: Value) -> Value:
            return implementation.run(dict(zip(values, arguments, strict=True)))

        return operation(named, multiplies=implementation.function is product)(*values.values())

    return replace(implementation, function=_operation(implementation.function), run=run)
