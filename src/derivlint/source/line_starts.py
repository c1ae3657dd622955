"""Where the lines of a text begin, so that texts which follow each other share most of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

#: So many lines, or up to twice as many, are in one block.
BLOCK = 256


class LineStarts:
    """The offset at which each line of a text begins; it does not change.

    Lines are kept in blocks, with the offset that is to be added to all in a block: an edit makes one block anew.
    """

    __slots__ = ("_blocks", "_firsts", "_lines", "_offsets")

    def __init__(self, blocks: Sequence[Sequence[int]], offsets: Sequence[int]) -> None:
        """Take the lines.

        Args:
            blocks: the lines in blocks that are not empty.
            offsets: what is to be added to all in each.
        """
        self._blocks = blocks
        self._offsets = offsets
        #: how many lines come before each block, and in all
        self._lines = [*accumulate(map(len, blocks), initial=0)]
        self._firsts = [block[0] + offset for block, offset in zip(blocks, offsets, strict=True)]

    @classmethod
    def of(cls, starts: Sequence[int]) -> LineStarts:
        """The lines that begin there."""
        blocks = _in_blocks(starts)
        return cls(blocks, [0] * len(blocks))

    def __len__(self) -> int:
        return self._lines[-1]

    def __getitem__(self, line: int) -> int:
        block = bisect_right(self._lines, line) - 1
        return self._blocks[block][line - self._lines[block]] + self._offsets[block]

    def __iter__(self) -> Iterator[int]:
        for block, offset in zip(self._blocks, self._offsets, strict=True):
            yield from (start + offset for start in block)

    def around(self, offset: int) -> tuple[int, int]:
        """The line that an offset is in, counted from 0, and where it begins."""
        block = bisect_right(self._firsts, offset) - 1
        starts, shift = self._blocks[block], self._offsets[block]
        line = bisect_right(starts, offset - shift) - 1
        return self._lines[block] + line, starts[line] + shift

    def replaced(self, first: int, last: int, new: Sequence[int], shift: int) -> LineStarts:
        """The lines of the text after an edit.

        Args:
            first: the line in which the edit begins, counted from 0.
            last: the line in which it ends.
            new: where the lines begin that are there now instead of those after the first.
            shift: how many characters later the lines after the last begin.
        """
        start, end = bisect_right(self._lines, first) - 1, bisect_right(self._lines, last) - 1
        offset = self._offsets[start]
        head = self._blocks[start][: first + 1 - self._lines[start]]
        rest = (each + self._offsets[end] + shift - offset for each in self._blocks[end][last + 1 - self._lines[end] :])
        blocks = _in_blocks([*head, *(each - offset for each in new), *rest])
        return LineStarts(
            [*self._blocks[:start], *blocks, *self._blocks[end + 1 :]],
            [
                *self._offsets[:start],
                *([offset] * len(blocks)),
                *(each + shift for each in self._offsets[end + 1 :]),
            ],
        )


def _in_blocks(starts: Sequence[int]) -> list[Sequence[int]]:
    if len(starts) <= 2 * BLOCK:
        return [starts]
    return [starts[at : at + BLOCK] for at in range(0, len(starts), BLOCK)]
