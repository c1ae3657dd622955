"""Expressions of C++ as functions of the values of names, in whatever domain the values are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Conditional,
    Construct,
    Expr,
    Index,
    Name,
    Number,
    Parenthesized,
    String,
    Unary,
    whole_number,
)

#: Gives the value of an expression for the values of names.
Evaluator = Callable[[Mapping[str, Any]], Any]


class ExpressionCompiler(ABC):
    """Compiles expressions into nested functions.

    What operators do is the same everywhere but for the values that they work on. What names, numbers and calls stand
    for, and what becomes of an expression without meaning, is up to subclasses.
    """

    #: The operators with one operand, and those with two but for ``&&`` and ``||``.
    unary: Mapping[str, Callable[[Any], Any]]
    binary: Mapping[str, Callable[[Any, Any], Any]]

    def __init__(self) -> None:
        # the object of a method is looked at by several readings of the call; doing its work again in each
        # would double it with every call of a chain
        self._compiled: dict[Expr, Evaluator] = {}

    def expression(self, node: Expr) -> Evaluator:
        """An expression as a function."""
        found = self._compiled.get(node)
        if found is None:
            rule = _RULES.get(type(node))
            found = self.unknown(node) if rule is None else getattr(self, rule)(node)
            self._compiled[node] = found
        return found

    @abstractmethod
    def unknown(self, node: Expr) -> Evaluator:
        """What an expression becomes that has no meaning, if it becomes anything."""

    @abstractmethod
    def name(self, node: Name) -> Evaluator:
        """The value of a name."""

    @abstractmethod
    def number(self, node: Number) -> Evaluator:
        """The value of a number."""

    @abstractmethod
    def call(self, node: Call) -> Evaluator:
        """The value of a call."""

    def item(self, call: Call) -> Evaluator:
        """The value of ``std::get<0>(items)``."""
        callee = call.callee
        assert isinstance(callee, Name), "it has template arguments"
        arguments = callee.parts[-1].template_args or ()
        index = arguments[0] if len(arguments) == 1 else None
        position = whole_number(index.text) if isinstance(index, Number) else None
        if position is None or len(call.args) != 1:
            return self.unknown(call)
        items = self.expression(call.args[0])
        return lambda values: items(values)[position]

    def _string(self, node: String) -> Evaluator:
        value = node.text.strip('"')
        return lambda _: value

    def _list(self, node: BraceList) -> Evaluator:
        items = [self.expression(item) for item in node.items]
        return lambda values: tuple([item(values) for item in items])

    def _construct(self, node: Construct) -> Evaluator:
        return self._list(node.braces)

    def _parenthesized(self, node: Parenthesized) -> Evaluator:
        return self.expression(node.inner)

    def _unary(self, node: Unary) -> Evaluator:
        operate = self.unary.get(node.op)
        if operate is None:
            return self.unknown(node)
        operand = self.expression(node.operand)
        return lambda values: operate(operand(values))

    def _binary(self, node: Binary) -> Evaluator:
        left = self.expression(node.left)
        right = self.expression(node.right)
        if node.op == "&&":
            return lambda values: bool(left(values)) and bool(right(values))
        if node.op == "||":
            return lambda values: bool(left(values)) or bool(right(values))
        operate = self.binary.get(node.op)
        if operate is None:
            return self.unknown(node)
        return lambda values: operate(left(values), right(values))

    def _conditional(self, node: Conditional) -> Evaluator:
        condition = self.expression(node.condition)
        then = self.expression(node.then)
        otherwise = self.expression(node.otherwise)
        return lambda values: then(values) if condition(values) else otherwise(values)

    def _index(self, node: Index) -> Evaluator:
        if len(node.args) != 1:
            return self.unknown(node)
        items = self.expression(node.object)
        index = self.expression(node.args[0])
        return lambda values: items(values)[index(values)]


#: The methods that compile each kind of expression; those that subclasses define are looked up by name.
_RULES: dict[type[Expr], str] = {
    Name: "name",
    Number: "number",
    Call: "call",
    String: "_string",
    BraceList: "_list",
    Construct: "_construct",
    Parenthesized: "_parenthesized",
    Unary: "_unary",
    Binary: "_binary",
    Conditional: "_conditional",
    Index: "_index",
}
