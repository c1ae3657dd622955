"""The base of all walks that give every expression of a formula a meaning, made of the meanings of its parts."""

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
    Number,
    Parenthesized,
    Postfix,
    String,
    Unary,
)

T = TypeVar("T")
P = ParamSpec("P")

#: What an evaluator fails with on what it is not made for: values of another kind, texts that do not spell numbers.
FAILURES = (ArithmeticError, AttributeError, TypeError, ValueError, LookupError)
#: Called with what an analysis failed with before its answer is "unknown"; fuzzing takes each for a find.
observers: list[Callable[[Exception], None]] = []


def unknown_if_it_fails(function: Callable[P, T], unknown: T, *args: P.args, **kwargs: P.kwargs) -> T:
    """What an analysis of expressions that someone wrote gives, ``unknown`` where it fails on them.

    This is for the entry points of evaluators, whose answer may be that they do not know; an error of any other kind
    than :data:`FAILURES` is one of the program.
    """
    try:
        return function(*args, **kwargs)
    except FAILURES as error:
        not_understood(error)
        return unknown


def not_understood(error: Exception) -> None:
    """Report what an analysis failed with before its answer becomes "unknown"."""
    for observe in observers:
        observe(error)


#: The methods that say what each kind of expression means; a kind whose method is not defined goes to ``otherwise``.
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
    """What the expressions of a formula mean.

    A subclass has a method for every kind of expression that it understands, named in :data:`METHODS`, which asks
    ``of`` for the meanings of the parts.

    Attributes:
        found: what every expression that was looked at means.
    """

    _methods: ClassVar[Mapping[type[Expr], Callable[[Any, Any], Any]]]

    def __init__(self) -> None:
        self.found: dict[Expr, T] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._methods = {kind: getattr(cls, name, cls.otherwise) for kind, name in METHODS.items()}

    def of(self, node: Expr) -> T:
        """What an expression means."""
        found = self.found
        if node in found:
            return found[node]
        analyses: T = self._methods[type(node)](self, node)
        found[node] = analyses
        return analyses

    @abstractmethod
    def otherwise(self, node: Expr) -> T:
        """What an expression of a kind means that has no method."""

    def parenthesized(self, node: Parenthesized) -> T:
        """An expression in parentheses means what it means without."""
        return self.of(node.inner)

    def construct(self, node: Construct) -> T:
        """An object built with braces means what its items mean."""
        return self.of(node.braces)
