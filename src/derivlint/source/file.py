"""Spans and positions, and the decoded text of a file with its line index."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from derivlint.source.lazy import cached_property
from derivlint.source.reading import read_bytes


class Span(NamedTuple):
    """A half-open range of code points of a decoded file: ``text[start:end]``, offsets from 0."""

    start: int
    end: int

    def shift(self, offset: int) -> Span:
        """The range moved by ``offset`` code points."""
        # an edit shifts thousands; the constructor of a named tuple takes twice as long
        return tuple.__new__(Span, (self.start + offset, self.end + offset))

    def cover(self, other: Span) -> Span:
        """The smallest range that contains both."""
        return Span(min(self.start, other.start), max(self.end, other.end))

    def contains(self, other: Span) -> bool:
        """Whether ``other`` lies inside this range."""
        return self.start <= other.start and other.end <= self.end


class Position(NamedTuple):
    """A 1-based line and column for people, the column in code points."""

    line: int
    column: int


#: The maximum size of a derivatives file: the largest real one has 0.7 MB, and a check takes 140 bytes per byte.
MAX_SOURCE_BYTES = 3 * 1024 * 1024

BOM = "\ufeff"

LINE_END = re.compile(r"\r\n?|\n")


class SourceFile:
    """The decoded text of one file with its line index.

    The text preserves every code point: a byte order mark is the character at offset 0, and line ends are not
    translated, so an edit of one range leaves every other byte unchanged.

    Attributes:
        path: the file's name as messages show it.
        text: the decoded text; bytes that are not UTF-8 are replaced by U+FFFD, see ``undecodable``.
        undecodable: the span of the first byte that is not UTF-8, or None.
    """

    __slots__ = ("__dict__", "path", "text", "undecodable")

    def __init__(self, path: str, text: str, undecodable: Span | None = None) -> None:
        self.path = path
        self.text = text
        self.undecodable = undecodable

    @classmethod
    def from_bytes(cls, path: str, data: bytes) -> SourceFile:
        """Decode ``data`` as UTF-8."""
        try:
            return cls(path, data.decode("utf-8"))
        except UnicodeDecodeError as error:
            start = len(data[: error.start].decode("utf-8"))
            return cls(path, data.decode("utf-8", errors="replace"), Span(start, start + 1))

    @classmethod
    def read(cls, path: str | Path, display: str | None = None) -> SourceFile:
        """Read a file; ``display`` is the name that messages show, by default the path.

        Raises:
            SourceError: the file cannot be read, or is larger than ``MAX_SOURCE_BYTES``.
        """
        shown = display if display is not None else str(path)
        return cls.from_bytes(shown, read_bytes(path, shown, MAX_SOURCE_BYTES))

    @cached_property
    def line_starts(self) -> list[int]:
        r"""The offset at which each line begins; lines end with ``\n``, ``\r\n`` or a lone ``\r``."""
        text = self.text
        if "\r" not in text:
            # the last is the start of a line after the end
            return [*accumulate([len(line) + 1 for line in text.split("\n")], initial=0)][:-1]
        return [0, *(match.end() for match in LINE_END.finditer(text))]

    @cached_property
    def lowered(self) -> str:
        """The text in lower case, for searches."""
        return self.text.lower()

    def replaced(self, span: Span, new: str) -> SourceFile:
        """The file with ``new`` in place of a range."""
        return SourceFile(self.path, "".join((self.text[: span.start], new, self.text[span.end :])))

    def line_at(self, offset: int) -> tuple[int, int]:
        """The 0-based line of an offset, and the offset at which it begins."""
        line = bisect_right(self.line_starts, offset) - 1
        return line, self.line_starts[line]

    def position(self, offset: int) -> Position:
        """The line and column of an offset, which may be the end of the text."""
        line, start = self.line_at(offset)
        return Position(line + 1, offset - start + 1)

    def line(self, number: int) -> str:
        """The text of a 1-based line without its line end."""
        return self.slice(self.line_span(number))

    def line_span(self, number: int) -> Span:
        """The range of a 1-based line without its line end."""
        starts = self.line_starts
        begin = starts[number - 1]
        end = starts[number] if number < len(starts) else len(self.text)
        while end > begin and self.text[end - 1] in "\r\n":
            end -= 1
        return Span(begin, end)

    def slice(self, span: Span) -> str:
        """The text of a range."""
        return self.text[span.start : span.end]
