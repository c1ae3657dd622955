"""The base of all walks that give every expression of a formula a meaning, made of the meanings of its parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

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
