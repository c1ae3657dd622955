"""Evaluates formulas in half precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from derivlint.analysis.half_precision.domain import ROUNDING_BINARY, ROUNDING_UNARY, rounding_implementation_named
from derivlint.analysis.half_precision.values import Half, LossCause, as_mask, operation
from derivlint.analysis.scalar_evaluation.evaluate import ElementCompiler, Environment, careful
from derivlint.analysis.scalar_evaluation.functions.table import Implementation
from derivlint.analysis.scalar_evaluation.values import REAL, Value
from derivlint.analysis.scalar_evaluation.vocabulary import METADATA, NUMBERS, TYPES, saved_property
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Binary, Call, Expr, Name, Unary
from derivlint.formula.analysis import FAILURES
from derivlint.operators.constants import plain_spelling
from derivlint.operators.reference.evaluators import Evaluator


def compile_in_half(formula: TypedFormula) -> Evaluator | None:
    """A formula as a function of an environment of numbers of half precision; None where nothing is understood."""
    return careful(RoundingCompiler(formula).compiled(), FAILURES)


def _rounding(functions: Mapping[str, Callable[[Value], Value]]) -> dict[str, Callable[[Value], Value]]:
    return {name: operation(function) for name, function in functions.items()}


class RoundingCompiler(ElementCompiler):
    """Compiles formulas whose operations round; what is lost knows the expression in which it is."""

    unary_operators = ROUNDING_UNARY
    binary_operators = ROUNDING_BINARY
    metadata = _rounding(METADATA)
    numbers = _rounding(NUMBERS)

    @staticmethod
    def saved_property(name: str) -> tuple[str, Callable[[Value], Value] | None]:
        """The variable that a saved property belongs to, and how it is read."""
        owner, read = saved_property(name)
        return owner, None if read is None else operation(read)

    @staticmethod
    def implementation(name: str) -> Implementation | None:
        """What an operator or helper does."""
        return rounding_implementation_named(name)

    @staticmethod
    def converted(value: Value, target: Value) -> Value:
        """A tensor of another scalar type."""
        return as_mask(value) if type(value) is bool and target is REAL else _converted(value, target)

    @staticmethod
    def like(value: Value, other: Value) -> Value:
        """A tensor of the scalar type of another one."""
        return as_mask(value) if type(value) is bool and type(other) is Half else _like(value, other)

    def name(self, node: Name) -> Evaluator:
        """A name; what is computed in another type that the formula names is not followed."""
        return self.unknown if plain_spelling(node) in TYPES else super().name(node)

    def of(self, node: Expr) -> Evaluator:
        """An expression; what is lost in it is lost there."""
        found = self.found.get(node)
        if found is None:
            found = super().of(node)
            if isinstance(node, (Binary, Call, Unary)) and found is not self.unknown:
                found = self.found[node] = _placing(found, node)
        return found


_converted = operation(ElementCompiler.converted)
_like = operation(ElementCompiler.like)


def _placing(evaluator: Evaluator, node: Expr) -> Evaluator:
    def evaluate(environment: Environment) -> Value:
        value = evaluator(environment)
        for each in value if isinstance(value, tuple) else (value,):
            loss = each.loss if type(each) is Half else None
            if loss is not None and loss.node is None:
                loss.node = node
                loss.is_inside = loss.exact != each.exact and loss.cause is not LossCause.MASK
        return value

    return evaluate
