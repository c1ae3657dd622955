"""The base class of evaluators of formulas, which compile each formula once to nested closures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from derivlint.analysis.interpretation.callee import NAMESPACES, CallFacts
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.expressions.inference import number_value
from derivlint.formula import Call, Expr, Name, Number
from derivlint.formula.analysis import unknown_if_it_fails
from derivlint.operators.reference.evaluators import Evaluator, ExpressionCompiler
from derivlint.source.lazy import memoized

#: The maximum number of nodes to compile recursively.
SHALLOW = 48


@memoized
def called_names(formula: TypedFormula) -> frozenset[str]:
    """The names of the functions and methods that a formula calls."""
    calls = (formula.call(node) for node in formula.nodes if isinstance(node, Call))
    return frozenset("" if call is None else call.name for call in calls)


class FormulaCompiler(ExpressionCompiler):
    """A compiler of formulas; unsupported expressions become ``unknown``."""

    def __init__(self, formula: TypedFormula) -> None:
        super().__init__()
        self._formula = formula

    @staticmethod
    @abstractmethod
    def unknown(environment: Mapping[str, Any], /) -> Any:
        """Evaluate an unsupported expression."""

    @abstractmethod
    def of_call(self, call: CallFacts) -> Evaluator:
        """Compile a call."""

    def compiled(self) -> Evaluator | None:
        """The compiled formula, or None if nothing in it is supported."""
        return unknown_if_it_fails(self._compiled, None)

    def _compiled(self) -> Evaluator | None:
        nodes = self._formula.nodes
        if len(nodes) > SHALLOW:
            # innermost parts first: compiling takes eight frames per level, evaluation three
            for node in reversed(nodes):
                if isinstance(node, Expr):
                    self.of(node)
        evaluator = self.of(self._formula.tree)
        return None if evaluator is self.unknown else evaluator

    def is_understood(self, node: Expr) -> bool:
        """Whether an expression could be evaluated if the values of its operands were known."""
        return unknown_if_it_fails(self.of, self.unknown, node) is not self.unknown

    def otherwise(self, node: Expr) -> Evaluator:
        """Compile any other expression to ``unknown``."""
        return self.unknown

    def truth(self, node: Expr) -> Evaluator:
        """Compile an operand that C++ converts to ``bool``; for an optional, whether it has a value."""
        value = self.of(node)
        if self._formula.type_of(node).head != "optional":
            return value
        return lambda values: value(values) is not None

    def number(self, node: Number) -> Evaluator:
        """Compile a numeric literal."""
        value = number_value(node.text).constant
        return self.unknown if value is None or isinstance(value, str) else lambda _: value

    def called(self, node: Call) -> Evaluator:
        """Compile a call whose callee is a name or a member."""
        call = self._formula.call(node)
        return self.unknown if call is None else self.of_call(call)

    @staticmethod
    def is_of_operator(call: CallFacts) -> bool:
        """Whether the name of a call resolves to an operator or helper."""
        # "index" is also a method whose argument is not a list of tensors
        if call.function is None and call.name != "index":
            return False
        callee = call.node.callee
        return not (isinstance(callee, Name) and len(callee.parts) > 1) or callee.parts[0].identifier in NAMESPACES
