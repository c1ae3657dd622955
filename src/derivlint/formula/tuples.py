"""Accesses to the elements of tuples."""

from __future__ import annotations

from derivlint.formula.nodes import Call, Expr, Name, Node, Number, TypeName
from derivlint.formula.numbers import whole_number

GET = "get"


def tuple_access(call: Call) -> tuple[Expr, Number | TypeName] | None:
    """The tuple and the index of ``std::get<0>(items)``, None of any other call."""
    if not isinstance(call.callee, Name) or len(call.args) != 1:
        return None
    last = call.callee.parts[-1]
    if last.identifier != GET or last.template_args is None or len(last.template_args) != 1:
        return None
    return call.args[0], last.template_args[0]


def position_of(index: Node) -> int | None:
    """The position that an index is, None where it is not a plain number."""
    return whole_number(index.text) if isinstance(index, Number) else None
