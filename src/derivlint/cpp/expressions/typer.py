"""The typing context that the modules for the kinds of expressions share: the scope and the problems."""

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
        scope: where the expression stands.
        library: what can be named.
        conversions: how types convert.
        problems: what was found wrong, in the order in which it was found.
        notes: what compiles and is hardly meant.
        callees: the function that each call was found to call.
        asked: the names that were sought among the variables.
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
        """The value of a variable, None if there is none of that name."""
        self.asked.add(name)
        return self.scope.variables.get(name)

    def operand(self, node: Expr) -> Value:
        """The value of an expression where a braced list cannot stand."""
        value = self.of(node)
        if value.type is BRACES:
            self.report(TypeProblemKind.MISPLACED_BRACES, node)
            return UNKNOWN_VALUE
        return value

    def report(self, kind: TypeProblemKind, place: Node | tuple[int, int], **facts: Any) -> Value:
        """Note a problem; the value of what is wrong is unknown."""
        start, end = place if isinstance(place, tuple) else (place.start, place.end)
        if kind is TypeProblemKind.UNDECLARED_NAME:
            if facts["name"] in self._undeclared:
                # one name, one problem, however often it is used
                return UNKNOWN_VALUE
            self._undeclared.add(facts["name"])
        (self.notes if kind in ACCEPTED else self.problems).append(TypeProblem(kind, start, end, **facts))
        return UNKNOWN_VALUE
