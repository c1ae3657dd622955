"""Evaluate formulas in half precision, over reference definitions whose operations round.

PyTorch's kernels compute in higher precision and round their results, so an operator is one operation. A helper
consists of operators: if it is known to follow its definition, each operation in it rounds. Any other helper counts as
one operation, which loses nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from msgspec.structs import replace

from derivlint.analysis.half_precision.values import Half, LossCause, as_mask, operation
from derivlint.analysis.scalar_evaluation.domain import INTERPRETER, Numbers, defined, implementation_named
from derivlint.analysis.scalar_evaluation.evaluate import ElementCompiler, Environment, unknown_on_failure
from derivlint.analysis.scalar_evaluation.functions.arithmetic import product
from derivlint.analysis.scalar_evaluation.functions.table import TABLE, Implementation
from derivlint.analysis.scalar_evaluation.values import REAL, Value
from derivlint.analysis.scalar_evaluation.vocabulary import BINARY, METADATA, NUMBERS, TYPES, UNARY, saved_property
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Binary, Call, Expr, Name, Unary
from derivlint.formula.analysis import FAILURES
from derivlint.operators import Book
from derivlint.operators.constants import plain_spelling
from derivlint.operators.reference.definitions import Definition, DefinitionKind, definitions
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.reference.interpretation import InterpretationError, Interpreter, Primitive

ROUNDING_UNARY = {op: operation(function) for op, function in UNARY.items()}
ROUNDING_BINARY = {op: operation(function, multiplies=op == "*") for op, function in BINARY.items()}


class Halves(Numbers):
    """The domain of half-precision numbers."""

    def __init__(self) -> None:
        self.unary = ROUNDING_UNARY
        self.binary = ROUNDING_BINARY

    def primitive(self, name: str) -> Primitive | None:
        """A primitive, or a definition that counts as one operation."""
        primitive = super().primitive(name)
        definition = definitions().get(name)
        if primitive is None and definition is not None and not _is_stepwise(definition):
            compiled = INTERPRETER.function(name)
            primitive = None if compiled is None else compiled.primitive
        return None if primitive is None else _rounding_primitive(primitive)

    def operator(self, name: str) -> Primitive | None:
        """An operator of the table."""
        primitive = super().operator(name)
        return None if primitive is None else _rounding_primitive(primitive)


_STEPWISE = Interpreter(Halves())


def _rounding_primitive(primitive: Primitive) -> Primitive:
    return Primitive(_operation(primitive.function), primitive.ignored, primitive.takes)


def _operation(function: Callable[..., Value]) -> Callable[..., Value]:
    return operation(function, multiplies=function is product)


def _is_stepwise(definition: Definition) -> bool:
    return definition.kind in (DefinitionKind.COMPOSITE, DefinitionKind.PART) or definition.name in Book.by_hand(
        "rounds-as-defined"
    )


@lru_cache(maxsize=4096)
def rounding_implementation_named(name: str) -> Implementation | None:
    """The implementation of an operator or helper, or None if unknown."""
    implementation = implementation_named(name)
    definition = None if name in TABLE else definitions().get(name)
    if implementation is None or definition is None or not _is_stepwise(definition):
        return None if implementation is None else _as_one(implementation)
    try:
        return defined(_STEPWISE, name)
    except InterpretationError:
        return None


def _as_one(implementation: Implementation) -> Implementation:
    """Round an operator or helper as one operation."""

    def run(values: Mapping[str, Value]) -> Value:
        def named(*arguments: Value) -> Value:
            return implementation.run(dict(zip(values, arguments, strict=True)))

        return operation(named, multiplies=implementation.function is product)(*values.values())

    return replace(implementation, function=_operation(implementation.function), run=run)


def compile_in_half(formula: TypedFormula) -> Evaluator | None:
    """Compile a formula to a function of half-precision numbers; None if none of it is supported."""
    return unknown_on_failure(RoundingCompiler(formula).compiled(), FAILURES)


def _rounding_all(functions: Mapping[str, Callable[[Value], Value]]) -> dict[str, Callable[[Value], Value]]:
    return {name: operation(function) for name, function in functions.items()}


class RoundingCompiler(ElementCompiler):
    """A compiler to rounding operations; a loss records its expression."""

    unary_operators = ROUNDING_UNARY
    binary_operators = ROUNDING_BINARY
    metadata = _rounding_all(METADATA)
    numbers = _rounding_all(NUMBERS)

    @staticmethod
    def saved_property(name: str) -> tuple[str, Callable[[Value], Value] | None]:
        """The variable of a saved property and the function that reads the property, or None."""
        owner, read = saved_property(name)
        return owner, None if read is None else operation(read)

    @staticmethod
    def implementation(name: str) -> Implementation | None:
        """The implementation of an operator or helper."""
        return rounding_implementation_named(name)

    @staticmethod
    def converted(value: Value, target: Value) -> Value:
        """Convert a tensor to another scalar type."""
        return as_mask(value) if type(value) is bool and target is REAL else _converted(value, target)

    @staticmethod
    def like(value: Value, reference: Value) -> Value:
        """Convert a tensor to the scalar type of another one."""
        return as_mask(value) if type(value) is bool and type(reference) is Half else _like(value, reference)

    def name(self, node: Name) -> Evaluator:
        """Compile a name; casts to dtypes that the formula names are not evaluated."""
        return self.unknown if plain_spelling(node) in TYPES else super().name(node)

    def of(self, node: Expr) -> Evaluator:
        """Compile an expression; losses in it are attributed to it."""
        evaluator = self.found.get(node)
        if evaluator is None:
            evaluator = super().of(node)
            if isinstance(node, (Binary, Call, Unary)) and evaluator is not self.unknown:
                evaluator = self.found[node] = _placing(evaluator, node)
        return evaluator


_converted = operation(ElementCompiler.converted)
_like = operation(ElementCompiler.like)


def _placing(evaluator: Evaluator, node: Expr) -> Evaluator:
    def evaluate(environment: Environment) -> Value:
        value = evaluator(environment)
        for element in value if isinstance(value, tuple) else (value,):
            loss = element.loss if type(element) is Half else None
            if loss is not None and loss.node is None:
                loss.node = node
                loss.is_inside = loss.exact != element.exact and loss.cause is not LossCause.MASK
        return value

    return evaluate
