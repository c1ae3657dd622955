"""Calls of which a formula uses only the sizes, although their argument has the same."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.interpretation.interpret import Interpretation, only_metadata
from derivlint.analysis.interpretation.operators import OperatorDegrees
from derivlint.formula import Call, Expr, unparenthesized
from derivlint.operators import Book
from derivlint.operators.shapes.sizes import is_broadcasting
from derivlint.operators.special import SIZE_MEMBERS

#: Functions that may change strides or the dtype.
CONVERTING = Book.by_hand("moves-elements") | Book.by_hand("may-return-argument") | Book.by_hand("real-valued")


def computed_for_sizes(interpretation: Interpretation, operators: OperatorDegrees) -> Iterator[tuple[Call, Expr]]:
    """The calls of elementwise functions of one tensor of which only the sizes are used, with that tensor."""
    for call in interpretation.calls:
        for position in (0,) if call.name in SIZE_MEMBERS else only_metadata(operators, call):
            inner = unparenthesized(call.arguments[position].node)
            facts = interpretation.formula.call(inner) if isinstance(inner, Call) else None
            if facts is None or not isinstance(inner, Call) or len(facts.arguments) != 1 or facts.is_inplace:
                continue
            if is_broadcasting(facts.name) and facts.name not in CONVERTING:
                yield inner, facts.arguments[0].node
