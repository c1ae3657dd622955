"""A file as text, with its line index."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from derivlint.source.lazy import cached_property
from derivlint.source.span import Position, Span

#: Larger files are refused: the largest real file of the kind has 0.7 MB.
MAX_BYTES = 64 * 1024 * 1024

BOM = "\ufeff"


class SourceError(Exception):
    """A file that cannot be read at all (missing, a folder, no permission, too large); ``str()`` says why."""


class SourceFile:
    """The decoded text of one file and where its lines begin.

    The text keeps every code point of the file: a byte order mark is the character at offset 0, and line ends are
    not translated, so that an edit of one range leaves every other byte as it was.

    Attributes:
        path: the file's name as messages show it.
        text: the decoded text; bytes that are no UTF-8 are replaced by U+FFFD, see ``undecodable``.
        undecodable: the place of the first byte that is no UTF-8, or None.
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
            SourceError: the file cannot be read, or is larger than ``MAX_BYTES``.
        """
        shown = display if display is not None else str(path)
        try:
            with open(path, "rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise SourceError(f'cannot read "{shown}": {reason}') from error
        if len(data) > MAX_BYTES:
            raise SourceError(f'cannot read "{shown}": it is larger than {MAX_BYTES // 2**20} MiB')
        return cls.from_bytes(shown, data)

    @cached_property
    def line_starts(self) -> list[int]:
        r"""The offset at which each line begins; lines end with ``\n``, ``\r\n`` or a lone ``\r``."""
        text = self.text
        starts = [0]
        if "\r" not in text:
            offset = text.find("\n")
            while offset >= 0:
                starts.append(offset + 1)
                offset = text.find("\n", offset + 1)
            return starts
        for offset, char in enumerate(text):
            if char == "\n" or (char == "\r" and text[offset + 1 : offset + 2] != "\n"):
                starts.append(offset + 1)
        return starts

    def position(self, offset: int) -> Position:
        """Line and column of an offset, which may be the end of the text."""
        line = bisect_right(self.line_starts, offset)
        return Position(line, offset - self.line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of a line (from 1) without its line end."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def slice(self, span: Span) -> str:
        """The text of a range."""
        return self.text[span.start : span.end]
