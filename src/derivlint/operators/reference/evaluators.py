"""Compile C++ expressions to Python closures over the values of names, in any domain."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Expr,
    Index,
    Name,
    Number,
    String,
    Unary,
)
from derivlint.formula.analysis import Analysis, position_of, tuple_access

#: A compiled expression: a function of the values of names.
Evaluator = Callable[[Mapping[str, Any]], Any]
#: The comparison operators with Python's semantics, for domains whose values support them.
COMPARING: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def applied(function: Callable[..., Any], arguments: Sequence[Evaluator]) -> Evaluator:
    """Compose a function with evaluators of its arguments; the usual one and two are unrolled."""
    if len(arguments) == 1:
        (only,) = arguments
        return lambda values: function(only(values))
    if len(arguments) == 2:
        first, second = arguments
        return lambda values: function(first(values), second(values))
    return lambda values: function(*[argument(values) for argument in arguments])


def nothing(_: Mapping[str, Any]) -> None:
    """The evaluator of an unused expression."""


class ExpressionCompiler(Analysis[Evaluator]):
    """A compiler of expressions to nested closures.

    Subclasses define the operators of their domain, names, numbers, calls, and the treatment of unsupported
    expressions.
    """

    #: The unary operators, and the binary ones except ``&&`` and ``||``.
    unary_operators: Mapping[str, Callable[[Any], Any]]
    binary_operators: Mapping[str, Callable[[Any, Any], Any]]

    @abstractmethod
    def name(self, node: Name) -> Evaluator:
        """Compile a name."""

    @abstractmethod
    def number(self, node: Number) -> Evaluator:
        """Compile a number."""

    @abstractmethod
    def called(self, node: Call) -> Evaluator:
        """Compile a call of a function or method."""

    def call(self, node: Call) -> Evaluator:
        """Compile a call; ``std::get<0>(items)`` is an item."""
        access = tuple_access(node)
        if access is None:
            return self.called(node)
        items, position = self.of(access[0]), position_of(access[1])
        return self.otherwise(node) if position is None else lambda values: items(values)[position]

    def string(self, node: String) -> Evaluator:
        """Compile a string literal."""
        value = node.text.strip('"')
        return lambda _: value

    def braces(self, node: BraceList) -> Evaluator:
        """Compile a braced list to a tuple; the outer braces of ``{{1, 1}}`` are those of a C++ array or reference."""
        if len(node.items) == 1 and isinstance(node.items[0], BraceList):
            return self.of(node.items[0])
        items = [self.of(item) for item in node.items]
        return lambda values: tuple([item(values) for item in items])

    def unary(self, node: Unary) -> Evaluator:
        """Compile a prefix operator."""
        operate = self.unary_operators.get(node.op)
        if operate is None:
            return self.otherwise(node)
        operand = self.truth(node.operand) if node.op == "!" else self.of(node.operand)
        return lambda values: operate(operand(values))

    def truth(self, node: Expr) -> Evaluator:
        """Compile an operand that C++ converts to ``bool``."""
        return self.of(node)

    def binary(self, node: Binary) -> Evaluator:
        """Compile a binary operator."""
        if node.op in ("&&", "||"):
            first, second = self.truth(node.left), self.truth(node.right)
            if node.op == "&&":
                return lambda values: bool(first(values)) and bool(second(values))
            return lambda values: bool(first(values)) or bool(second(values))
        left = self.of(node.left)
        right = self.of(node.right)
        operate = self.binary_operators.get(node.op)
        if operate is None:
            return self.otherwise(node)
        return lambda values: operate(left(values), right(values))

    def conditional(self, node: Conditional) -> Evaluator:
        """Compile a conditional, which evaluates only the taken branch."""
        condition = self.truth(node.condition)
        then = self.of(node.then)
        otherwise = self.of(node.otherwise)
        return lambda values: then(values) if condition(values) else otherwise(values)

    def index(self, node: Index) -> Evaluator:
        """Compile an item of a list."""
        if len(node.args) != 1:
            return self.otherwise(node)
        items = self.of(node.object)
        index = self.of(node.args[0])
        return lambda values: items(values)[index(values)]
