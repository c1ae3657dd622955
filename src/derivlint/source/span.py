"""Places in a file, always stored as offsets."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of code points of a decoded file: ``text[start:end]``, offsets from 0."""

    start: int
    end: int

    def shift(self, offset: int) -> Span:
        """The same range moved by ``offset`` code points."""
        # an edit moves thousands; the constructor of a named tuple takes twice as long
        return tuple.__new__(Span, (self.start + offset, self.end + offset))

    def cover(self, other: Span) -> Span:
        """The smallest range that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def contains(self, other: Span) -> bool:
        """Whether ``other`` lies inside this range."""
        return self.start <= other.start and other.end <= self.end


class Position(NamedTuple):
    """A place as people read it: 1-based line and column, the column in code points."""

    line: int
    column: int
