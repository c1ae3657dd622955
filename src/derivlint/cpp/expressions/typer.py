"""The context shared by the modules of type inference: scope and problems."""

from __future__ import annotations

from typing import Any

from derivlint.cpp.cpp_type import BRACES, UNKNOWN_VALUE, Value
from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.library import Library
from derivlint.cpp.problem import ACCEPTED, TypeProblem, TypeProblemKind
from derivlint.cpp.scope import Scope
from derivlint.formula import Expr, Node
from derivlint.formula.analysis import Analysis


class Typer(Analysis[Value]):
    """The types of one expression; :class:`~derivlint.cpp.expressions.inference.Inference` infers them.

    Attributes:
        scope: the scope of the expression.
        library: the declarations.
        conversions: the conversion ranks.
        problems: the errors, in the order of discovery.
        notes: code that compiles but is probably unintended.
        callees: the resolved function of each call.
        asked: the names that were looked up among the variables.
    """

    def __init__(self, scope: Scope, library: Library) -> None:
        super().__init__()
        self.scope = scope
        self.library = library
        self.conversions = library.conversions
        self.problems: list[TypeProblem] = []
        self.notes: list[TypeProblem] = []
        self._undeclared: set[str] = set()
        self.callees: dict[Expr, Function] = {}
        self.asked: set[str] = set()

    def variable(self, name: str) -> Value | None:
        """The value of a variable, or None if there is no such variable."""
        self.asked.add(name)
        return self.scope.variables.get(name)

    def operand(self, node: Expr) -> Value:
        """The value of an expression where a braced list is an error."""
        value = self.of(node)
        if value.type is BRACES:
            self.report(TypeProblemKind.MISPLACED_BRACES, node)
            return UNKNOWN_VALUE
        return value

    def report(self, kind: TypeProblemKind, place: Node | tuple[int, int], **facts: Any) -> Value:
        """Record a problem and return the unknown value."""
        start, end = place if isinstance(place, tuple) else (place.start, place.end)
        if kind is TypeProblemKind.UNDECLARED_NAME:
            if facts["name"] in self._undeclared:
                # report each name once
                return UNKNOWN_VALUE
            self._undeclared.add(facts["name"])
        (self.notes if kind in ACCEPTED else self.problems).append(TypeProblem(kind, start, end, **facts))
        return UNKNOWN_VALUE
