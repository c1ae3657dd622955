"""Evaluates formulas in half precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from derivlint.analysis.half_precision.domain import ROUNDING_BINARY, ROUNDING_UNARY, rounding_implementation_named
from derivlint.analysis.half_precision.values import Half, LossCause, as_mask, operation
from derivlint.analysis.scalar_evaluation.evaluate import ElementCompiler, Environment, unknown_on_failure
from derivlint.analysis.scalar_evaluation.functions.table import Implementation
from derivlint.analysis.scalar_evaluation.values import REAL, Value
from derivlint.analysis.scalar_evaluation.vocabulary import METADATA, NUMBERS, TYPES, saved_property
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Binary, Call, Expr, Name, Unary
from derivlint.formula.analysis import FAILURES
from derivlint.operators.constants import plain_spelling
from derivlint.operators.reference.evaluators import Evaluator


def compile_in_half(formula: TypedFormula) -> Evaluator | None:
    """A formula as a function of numbers of half precision, or None if nothing of it is understood."""
    return unknown_on_failure(RoundingCompiler(formula).compiled(), FAILURES)


def _rounding(functions: Mapping[str, Callable[[Value], Value]]) -> dict[str, Callable[[Value], Value]]:
    return {name: operation(function) for name, function in functions.items()}


class RoundingCompiler(ElementCompiler):
    """Compiles formulas whose operations round; a loss records its expression."""

    unary_operators = ROUNDING_UNARY
    binary_operators = ROUNDING_BINARY
    metadata = _rounding(METADATA)
    numbers = _rounding(NUMBERS)

    @staticmethod
    def saved_property(name: str) -> tuple[str, Callable[[Value], Value] | None]:
        """The variable of a saved property, and the function that reads the property."""
        owner, read = saved_property(name)
        return owner, None if read is None else operation(read)

    @staticmethod
    def implementation(name: str) -> Implementation | None:
        """An operator or helper by its name."""
        return rounding_implementation_named(name)

    @staticmethod
    def converted(value: Value, target: Value) -> Value:
        """A tensor of another scalar type."""
        return as_mask(value) if type(value) is bool and target is REAL else _converted(value, target)

    @staticmethod
    def like(value: Value, reference: Value) -> Value:
        """A tensor of the scalar type of another one."""
        return as_mask(value) if type(value) is bool and type(reference) is Half else _like(value, reference)

    def name(self, node: Name) -> Evaluator:
        """A name; casts to types that the formula names are not followed."""
        return self.unknown if plain_spelling(node) in TYPES else super().name(node)

    def of(self, node: Expr) -> Evaluator:
        """An expression; losses in it are recorded at it."""
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
