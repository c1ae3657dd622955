"""Apply fixes to a text: each completely or not at all; fixes that touch applied ones are skipped."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

from derivlint.lint.diagnostic import Diagnostic, TextEdit
from derivlint.source import SourceFile, Span

#: An edit: start, end and text.
_Edit = tuple[int, int, str]


class FixOutcome(Struct, frozen=True):
    """A text with fixes applied.

    Attributes:
        text: the new text.
        applied: the diagnostics with applied fixes, by position.
        skipped: the diagnostics whose fixes touch applied ones.
        edits: the applied edits, sorted and disjoint.
    """

    text: str
    applied: tuple[Diagnostic, ...]
    skipped: tuple[Diagnostic, ...]
    edits: tuple[TextEdit, ...] = ()


def fixable(diagnostic: Diagnostic, unsafe: bool = False) -> bool:
    """Whether a diagnostic has a safe fix, or any fix if ``unsafe``."""
    return diagnostic.fix is not None and (diagnostic.fix.safe or unsafe)


def apply_fixes(source: SourceFile, diagnostics: Sequence[Diagnostic], *, unsafe: bool = False) -> FixOutcome:
    """Apply the fixes of diagnostics; of two that touch, the first.

    Args:
        source: the file; diagnostics of other files are ignored.
        diagnostics: the diagnostics, in any order.
        unsafe: whether to apply unsafe fixes too.
    """
    candidates = [
        (sorted((edit.span.start, edit.span.end, edit.text) for edit in item.fix.edits), item)
        for item in diagnostics
        if item.fix is not None and fixable(item, unsafe) and item.path == source.path
    ]
    made: list[_Edit] = []
    seen: set[_Edit] = set()
    applied: list[Diagnostic] = []
    skipped: list[Diagnostic] = []
    for edits, item in sorted(candidates, key=lambda candidate: (candidate[0][:1], candidate[1])):
        # a fix without effect would be reapplied forever
        if all(source.text[start:end] == text for start, end, text in edits):
            continue
        # fixes may share edits, such as a declaration that both need
        new = [edit for edit in dict.fromkeys(edits) if edit not in seen]
        entangled = any(_touches(first, second) for first, second in pairwise(edits))
        # applied edits are disjoint, so only the neighbours of a new one matter
        places = [(edit, bisect_left(made, edit)) for edit in new]
        neighbours = ((edit, near) for edit, at in places for near in made[max(0, at - 1) : at + 1])
        if entangled or any(_touches(*sorted(pair)) for pair in neighbours):
            skipped.append(item)
            continue
        seen.update(new)
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
    """A map from offsets of a text to offsets of the edited text; edits are sorted and disjoint."""

    def __init__(self, edits: Sequence[TextEdit]) -> None:
        self._edits = edits
        self._starts = [edit.span.start for edit in edits]
        #: the shift of the text after each edit
        self._shifts = list(accumulate(len(edit.text) - (edit.span.end - edit.span.start) for edit in edits))

    def to(self, offset: int) -> int:
        """Map an offset; offsets in a replaced range map to its start."""
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and self._edits[index].span == (offset, offset):
            # an insertion at the offset comes after it
            index -= 1
        if index < 0:
            return offset
        start, end = self._edits[index].span
        return start + self._before(index) if offset < end else offset + self._shifts[index]

    @property
    def made(self) -> list[Span]:
        """The span of each edit in the new text."""
        starts = [start + self._before(index) for index, start in enumerate(self._starts)]
        return [Span(start, start + len(edit.text)) for start, edit in zip(starts, self._edits, strict=True)]

    def _before(self, index: int) -> int:
        return self._shifts[index - 1] if index else 0


def _touches(first: _Edit, second: _Edit) -> bool:
    """Whether edits overlap, or one inserts at an end of the other, so that their order is ambiguous."""
    empty = first[0] == first[1] or second[0] == second[1]
    return second[0] < first[1] or (second[0] == first[1] and empty)
