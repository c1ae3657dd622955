"""Bottom-up walks over expressions: the value of a node is computed from the values of its children."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

from derivlint.formula.nodes import (
    Binary,
    BraceList,
    Call,
    Cast,
    Char,
    Conditional,
    Construct,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Node,
    Number,
    Parenthesized,
    Postfix,
    String,
    TypeName,
    Unary,
)
from derivlint.formula.vocabulary import whole_number

GET = "get"
T = TypeVar("T")
P = ParamSpec("P")

#: Errors that evaluators raise on unexpected values and texts, such as malformed numbers.
FAILURES = (ArithmeticError, AttributeError, TypeError, ValueError, LookupError)
#: Called with each error that makes an analysis return "unknown"; fuzzing reports them.
observers: list[Callable[[Exception], None]] = []


def unknown_if_it_fails(function: Callable[P, T], unknown: T, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call an analysis of user-written expressions; return ``unknown`` if it raises one of :data:`FAILURES`.

    For entry points of evaluators; any other exception is a bug.
    """
    try:
        return function(*args, **kwargs)
    except FAILURES as error:
        not_understood(error)
        return unknown


def not_understood(error: Exception) -> None:
    """Report an error that makes an analysis return "unknown"."""
    for observe in observers:
        observe(error)


#: The method for each kind of expression; a kind whose method is not defined goes to ``otherwise``.
METHODS: Mapping[type[Expr], str] = {
    Name: "name",
    Number: "number",
    String: "string",
    Char: "char",
    Call: "call",
    Member: "member",
    Index: "index",
    Unary: "unary",
    Postfix: "postfix",
    Cast: "cast",
    Binary: "binary",
    Conditional: "conditional",
    Parenthesized: "parenthesized",
    BraceList: "braces",
    Construct: "construct",
    Lambda: "lambda_",
}


class Analysis(ABC, Generic[T]):
    """A memoized evaluator of expressions.

    A subclass defines the methods of :data:`METHODS` for the kinds of expressions it supports; they call ``of`` for the
    operands.

    Attributes:
        found: the computed values by expression.
    """

    _methods: ClassVar[Mapping[type[Expr], Callable[[Any, Any], Any]]]

    def __init__(self) -> None:
        self.found: dict[Expr, T] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._methods = {kind: getattr(cls, name, cls.otherwise) for kind, name in METHODS.items()}

    def of(self, node: Expr) -> T:
        """Return the value of an expression, computed once."""
        results = self.found
        if node in results:
            return results[node]
        value: T = self._methods[type(node)](self, node)
        results[node] = value
        return value

    @abstractmethod
    def otherwise(self, node: Expr) -> T:
        """Return the value of an expression whose kind has no method."""

    def parenthesized(self, node: Parenthesized) -> T:
        """Return the value of the expression in parentheses."""
        return self.of(node.inner)

    def construct(self, node: Construct) -> T:
        """Return the value of a braced list."""
        return self.of(node.braces)


def tuple_access(call: Call) -> tuple[Expr, Number | TypeName] | None:
    """The tuple and the index of ``std::get<0>(items)``; None for any other call."""
    if not isinstance(call.callee, Name) or len(call.args) != 1:
        return None
    last = call.callee.parts[-1]
    if last.identifier != GET or last.template_args is None or len(last.template_args) != 1:
        return None
    return call.args[0], last.template_args[0]


def position_of(index: Node) -> int | None:
    """The value of an index, or None if it is not a number literal."""
    return whole_number(index.text) if isinstance(index, Number) else None
