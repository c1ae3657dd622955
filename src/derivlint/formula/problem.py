"""What is wrong with the syntax of a formula."""

from __future__ import annotations

from typing import NamedTuple


class SyntaxProblem(NamedTuple):
    """Why a text is no formula.

    Attributes:
        kind: the kind of slip, such as ``unclosed-bracket``.
        message: one line that says what is wrong.
        start: where the offending text begins.
        end: where it ends.
        help: what to do about it, if that is known.
        related: other places that belong to it, each a message with start and end.
    """

    kind: str
    message: str
    start: int
    end: int
    help: str | None = None
    related: tuple[tuple[str, int, int], ...] = ()
