"""A file as text, with its line index."""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

from derivlint.source.difference import Difference, difference
from derivlint.source.lazy import cached_property
from derivlint.source.line_starts import LineStarts
from derivlint.source.reading import read_bytes
from derivlint.source.span import Position, Span

BOM = "\ufeff"

_LINE_END = re.compile(r"\r\n?|\n")


class SourceFile:
    """The decoded text of one file and where its lines begin.

    The text keeps every code point of the file: a byte order mark is the character at offset 0, and line ends are
    not translated, so that an edit of one range leaves every other byte as it was.

    Attributes:
        path: the file's name as messages show it.
        text: the decoded text; bytes that are not UTF-8 are replaced by U+FFFD, see ``undecodable``.
        undecodable: the place of the first byte that is not UTF-8, or None.
    """

    __slots__ = ("__dict__", "_lacked", "_since", "path", "text", "undecodable")

    def __init__(self, path: str, text: str, undecodable: Span | None = None) -> None:
        self.path = path
        self.text = text
        self.undecodable = undecodable
        #: words that the text is known not to have
        self._lacked: frozenset[str] = frozenset()
        #: an earlier text, and where this one differs from it
        self._since: tuple[str, Difference] | None = None

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
            SourceError: the file cannot be read, or is larger than ``MAX_BYTES``.
        """
        shown = display if display is not None else str(path)
        return cls.from_bytes(shown, read_bytes(path, shown))

    @cached_property
    def line_starts(self) -> LineStarts:
        r"""The offset at which each line begins; lines end with ``\n``, ``\r\n`` or a lone ``\r``."""
        text = self.text
        if "\r" not in text:
            # the last one is where a line would begin after the end
            return LineStarts.of([*accumulate([len(line) + 1 for line in text.split("\n")], initial=0)][:-1])
        return LineStarts.of([0, *(match.end() for match in _LINE_END.finditer(text))])

    def replaced(self, span: Span, new: str) -> SourceFile:
        """The file after an edit: with another text at a range; its line index is made of this one's."""
        text = self.text
        after = SourceFile(self.path, "".join((text[: span.start], new, text[span.end :])))
        end = span.start + len(new)
        after._since = (text, Difference(span.start, span.end, end))
        after._lacked = frozenset(
            word
            for word in self._lacked
            if word not in after.text[max(span.start - len(word), 0) : end + len(word)].lower()
        )
        starts, shift = self.line_starts, len(new) - (span.end - span.start)
        # the edit may part a line end of two characters, or make one
        (first, begin), (last, _) = starts.around(max(span.start - 1, 0)), starts.around(span.end)
        stop = (starts[last + 1] if last + 1 < len(starts) else len(text) + 1) + shift
        found = (match.end() for match in _LINE_END.finditer(after.text, begin, stop))
        after.line_starts = starts.replaced(first, last, [start for start in found if start < stop], shift)
        return after

    def has(self, word: str) -> bool:
        """Whether a word is anywhere in the text, in whatever letters; after an edit one looks only around it.

        Args:
            word: the word in small ASCII letters.
        """
        if word in self._lacked:
            return False
        found = word in self.text.lower()
        if not found:
            # an edit may come meanwhile, on another thread
            self._lacked |= {word}
        return found

    def since(self, before: str) -> Difference:
        """Where the text differs from an earlier one; that is known after an edit."""
        since = self._since
        if since is None or since[0] is not before:
            since = self._since = (before, difference(before, self.text))
        return since[1]

    def position(self, offset: int) -> Position:
        """Line and column of an offset, which may be the end of the text."""
        line, start = self.line_starts.around(offset)
        return Position(line + 1, offset - start + 1)

    def line(self, number: int) -> str:
        """The text of a line (from 1) without its line end."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def slice(self, span: Span) -> str:
        """The text of a range."""
        return self.text[span.start : span.end]
