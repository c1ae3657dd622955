"""Which part of a file belongs to which item of its list, and what an edit left of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint import Diagnostic
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Sequence

_BREAKS = "\n\r"


def boundaries(source: SourceFile, items: Sequence) -> list[int] | None:
    """Where the part of each item begins and that of the last one ends; None where items are not in file order.

    What stands above an item belongs to it: comments, too, which may silence what is found in it.
    """
    found = [0]
    starts = source.line_starts
    for node in items.items:
        if node.start < found[-1]:
            # an alias has the place of its anchor
            return None
        line = bisect_right(starts, max(node.end - 1, node.start))
        found.append(starts[line] if line < len(starts) else len(source.text))
    return found if sorted(set(found)) == found else None


def common_prefix(first: str, second: str, limit: int) -> int:
    """The length of what two texts begin with alike, at most ``limit``."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(first: str, second: str, limit: int) -> int:
    """The length of what two texts end with alike, at most ``limit``."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if first[len(first) - middle : len(first) - low] == second[len(second) - middle : len(second) - low]:
            low = middle
        else:
            high = middle - 1
    return low


class Edit(Struct, frozen=True):
    """What became of a text: some items are the same, and those between are to be read again.

    Attributes:
        bounds: where the parts of the earlier text begin, see :func:`boundaries`.
        first: the first item that is not the same.
        last: the first item behind those that are not the same.
        start: where the part that is not the same begins.
        end: where it ends in the later text.
        delta: how much longer the later text is.
    """

    bounds: list[int]
    first: int
    last: int
    start: int
    end: int
    delta: int

    def part(self, index: int) -> Span:
        """The part of an item that is the same, in the later text."""
        shift = self.delta if index >= self.last else 0
        return Span(self.bounds[index] + shift, self.bounds[index + 1] + shift)

    def item_before(self, offset: int) -> int:
        """The item that a character of the earlier text belongs to."""
        return bisect_right(self.bounds, offset) - 1

    def item_after(self, offset: int) -> int:
        """The item that a character of the later text belongs to; the first edited one for all of these."""
        if self.start <= offset < self.end:
            return self.first
        return self.item_before(offset if offset < self.start else offset - self.delta)

    def moved(self, offset: int) -> int:
        """Where a character of the earlier text is; of what is not the same, the nearest place."""
        if offset < self.start:
            return offset
        if offset >= self.end - self.delta:
            return offset + self.delta
        return min(offset, self.end)

    def moved_span(self, span: Span) -> Span:
        """Where a range of the earlier text is."""
        start = self.moved(span.start)
        return Span(start, max(start, self.moved(span.end)))

    def touches(self, span: Span) -> bool:
        """Whether a range of the earlier text is not the same."""
        return span.end > self.start and span.start < self.end - self.delta

    def moved_diagnostic(self, item: Diagnostic) -> Diagnostic:
        """A diagnostic of the earlier text, in an item that is the same, at its place in the later text."""
        if self.delta == 0 and not item.related and item.fix is None:
            return item
        fix = item.fix
        if fix is not None:
            if any(self.touches(edit.span) for edit in fix.edits):
                fix = None
            else:
                fix = replace(fix, edits=tuple(replace(edit, span=self.moved_span(edit.span)) for edit in fix.edits))
        related = tuple(
            part if part.path is not None and part.path != item.path else replace(part, span=self.moved_span(part.span))
            for part in item.related
        )
        return replace(item, span=self.moved_span(item.span), related=related, fix=fix)


def find_edit(before: str, after: str, bounds: list[int]) -> Edit | None:
    """What an edit left of the items of a text; None where that cannot be told.

    Args:
        before: the earlier text.
        after: the later one.
        bounds: where the parts of the items of the earlier text begin.
    """
    limit = min(len(before), len(after))
    prefix = common_prefix(before, after, limit)
    suffix = common_suffix(before, after, limit - prefix)
    delta = len(after) - len(before)
    count = len(bounds) - 1
    first = min(bisect_right(bounds, prefix) - 1, count)
    last = max(bisect_left(bounds, len(before) - suffix), min(first + 1, count))
    above = before[bounds[first] : prefix]
    if first and not any(line.startswith("-") for line in above.splitlines()):
        # what is written above an item may belong to the one before
        first -= 1
    if last > count:
        last, end = count, len(after)
    else:
        end = bounds[last] + delta
    start = bounds[first]
    if end < start or not (end == len(after) or _begins_line(after, end)) or not _begins_line(after, start):
        return None
    return Edit(bounds, first, last, start, end, delta)


def _begins_line(text: str, offset: int) -> bool:
    if offset == 0:
        return True
    return text[offset - 1] in _BREAKS and text[offset - 1 : offset + 1] != "\r\n"
