"""Applies fixes to a text: each as a whole or not at all, and together only where they do not touch each other."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

from derivlint.lint.diagnostic import Diagnostic, Fix, TextEdit
from derivlint.source import SourceFile, Span

#: An edit as it sorts: by place, then by text.
_Edit = tuple[int, int, str]


class FixOutcome(Struct, frozen=True):
    """A text with fixes applied.

    Attributes:
        text: the new text; what no edit covers is as it was, to the last byte.
        applied: the diagnostics whose fix is in it, by place.
        skipped: those whose fix would touch one that is in it.
        edits: the edits that were made, by place, disjoint.
    """

    text: str
    applied: tuple[Diagnostic, ...]
    skipped: tuple[Diagnostic, ...]
    edits: tuple[TextEdit, ...] = ()


def fixable(diagnostic: Diagnostic, unsafe: bool = False) -> bool:
    """Whether a diagnostic comes with a fix that may be applied.

    Args:
        diagnostic: the diagnostic.
        unsafe: whether fixes count that may change what is meant.
    """
    return diagnostic.fix is not None and (diagnostic.fix.safe or unsafe)


def apply_fixes(source: SourceFile, diagnostics: Sequence[Diagnostic], *, unsafe: bool = False) -> FixOutcome:
    """Apply the fixes of diagnostics; of two that touch the same place, the one that begins first.

    Args:
        source: the file; diagnostics of other files are left out.
        diagnostics: the diagnostics, in any order.
        unsafe: whether to apply fixes that may change what is meant.
    """
    candidates = [
        (_edits(item.fix), item)
        for item in diagnostics
        if item.fix is not None and fixable(item, unsafe) and item.path == source.path
    ]
    made: list[_Edit] = []
    known: set[_Edit] = set()
    applied: list[Diagnostic] = []
    skipped: list[Diagnostic] = []
    for edits, item in sorted(candidates, key=lambda candidate: (candidate[0][:1], candidate[1])):
        # a fix that changes nothing would be applied again and again
        if all(source.text[start:end] == text for start, end, text in edits):
            continue
        # two fixes may agree about an edit, such as the one declaration that both of them lack
        new = [edit for edit in dict.fromkeys(edits) if edit not in known]
        entangled = any(_touches(left, right) for left, right in pairwise(edits))
        if entangled or any(_touches_any(edit, made) for edit in new):
            skipped.append(item)
            continue
        known.update(new)
        for edit in new:
            insort(made, edit)
        applied.append(item)
    pieces: list[str] = []
    position = 0
    for start, end, text in made:
        pieces += (source.text[position:start], text)
        position = end
    pieces.append(source.text[position:])
    return FixOutcome(
        "".join(pieces),
        tuple(applied),
        tuple(skipped),
        tuple(TextEdit(Span(start, end), text) for start, end, text in made),
    )


class OffsetMap:
    """Where places of a text are after edits."""

    def __init__(self, edits: Sequence[TextEdit]) -> None:
        """Look at edits once for all places.

        Args:
            edits: the edits that were made, by place, disjoint.
        """
        self._edits = edits
        self._starts = [edit.span.start for edit in edits]
        #: how far the text after each edit moves
        self._shifts = list(accumulate(len(edit.text) - (edit.span.end - edit.span.start) for edit in edits))

    def to(self, offset: int) -> int:
        """Where a place of the old text is in the new one; of a replaced range, its beginning."""
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and self._edits[index].span == (offset, offset):
            # what is inserted at a place comes after it
            index -= 1
        if index < 0:
            return offset
        start, end = self._edits[index].span
        return start + self._before(index) if offset < end else offset + self._shifts[index]

    @property
    def made(self) -> list[Span]:
        """The range of each edit in the new text."""
        starts = [start + self._before(index) for index, start in enumerate(self._starts)]
        return [Span(start, start + len(edit.text)) for start, edit in zip(starts, self._edits, strict=True)]

    def _before(self, index: int) -> int:
        return self._shifts[index - 1] if index else 0


def _edits(fix: Fix) -> list[_Edit]:
    return sorted((edit.span.start, edit.span.end, edit.text) for edit in fix.edits)


def _touches_any(edit: _Edit, made: list[_Edit]) -> bool:
    # edits that were made are disjoint, so only the neighbours matter
    index = bisect_left(made, edit)
    neighbours = made[max(0, index - 1) : index + 1]
    return any(_touches(*sorted((edit, other))) for other in neighbours)


def _touches(first: _Edit, second: _Edit) -> bool:
    """Whether edits overlap, or one inserts where the other begins or ends: then their order would be a guess."""
    empty = first[0] == first[1] or second[0] == second[1]
    return second[0] < first[1] or (second[0] == first[1] and empty)
