"""The open texts of an editor, which replace the files on disk; conversion of positions in them to offsets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from derivlint.source import SourceFile, Span

#: Characters that no file name has: lone surrogates, which a client may send, and NUL.
_NOT_IN_NAMES = re.compile("[\ud800-\udfff\0]")


def path_of(uri: str) -> Path:
    """Return the path of a URI; an unsaved text gets a path of its name in the working folder."""
    uri = _named(uri)
    path = to_fs_path(uri) if urlsplit(uri).scheme == "file" else None
    if path is not None:
        return Path(_named(path))
    return Path.cwd() / (Path(_named(unquote(urlsplit(uri).path))).name or "untitled")


def _named(text: str) -> str:
    return _NOT_IN_NAMES.sub("\N{REPLACEMENT CHARACTER}", text)


def uri_of(path: str | Path) -> str:
    """Return the URI of a file."""
    return from_fs_path(str(Path(path).absolute())) or Path(path).absolute().as_uri()


class OpenDocument:
    """A text that an editor has open.

    Attributes:
        uri: the editor's name for it.
        path: the file.
        version: the editor's version number of the text.
        source: the text.
    """

    def __init__(self, uri: str, version: int, text: str) -> None:
        self.uri = uri
        self.path = path_of(uri)
        self.version = version
        self.source = SourceFile(str(self.path), text)

    def change(self, version: int, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: str) -> None:
        """Apply changes in order."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self.source = self.source.replaced(Positions(self.source, encoding).span(change.range), change.text)
            else:
                self.source = SourceFile(self.source.path, change.text)
        self.version = version


# ---- positions


UTF8 = "utf-8"
UTF16 = "utf-16"
UTF32 = "utf-32"


def preferred_encoding(offered: list[str] | None) -> str:
    """Select the position encoding for a client.

    UTF-16 if it is offered: editors with several servers for a file need the same encoding from all, and most servers
    support UTF-16 only.

    Args:
        offered: the encodings that the client supports, or None for UTF-16.
    """
    if not offered or UTF16 in offered:
        return UTF16
    return next((name for name in offered if name in (UTF8, UTF32)), UTF16)


def units(text: str, encoding: str) -> int:
    """Return the length of a text in code units of an encoding."""
    if text.isascii() or encoding == UTF32:
        return len(text)
    if encoding == UTF16:
        return len(text) + sum(char > "\uffff" for char in text)
    # a lone surrogate, which a client may send, counts like the replacement character
    return sum(1 + (char > "\x7f") + (char > "\u07ff") + (char > "\uffff") for char in text)


def characters(text: str, count: int, encoding: str) -> int:
    """Return the number of characters in the first ``count`` code units; a unit within a character is rounded down."""
    if count >= len(text) * 4:
        return len(text)
    if text.isascii() or encoding == UTF32:
        return max(0, min(count, len(text)))
    seen = 0
    for index, char in enumerate(text):
        seen += units(char, encoding)
        if seen > count:
            return index
    return len(text)


class Positions:
    """Converts between positions of the protocol and offsets of one text."""

    def __init__(self, source: SourceFile, encoding: str) -> None:
        self.source = source
        self.encoding = encoding
        self._counts_characters = encoding == UTF32 or source.text.isascii()

    def offset(self, position: types.Position) -> int:
        """Return the offset of a position, clamped to the end of its line and of the text."""
        starts = self.source.line_starts
        if position.line >= len(starts):
            return len(self.source.text)
        text = self.source.line(position.line + 1)
        return starts[position.line] + characters(text, position.character, self.encoding)

    def span(self, where: types.Range) -> Span:
        """Return the span of a range."""
        start = self.offset(where.start)
        return Span(start, max(start, self.offset(where.end)))

    def position(self, offset: int) -> types.Position:
        """Return the position of an offset."""
        return types.Position(*self.line_and_character(offset))

    def line_and_character(self, offset: int) -> tuple[int, int]:
        """Return the line and the character of an offset."""
        text = self.source.text
        offset = min(offset, len(text))
        line, start = self.source.line_at(offset)
        return line, offset - start if self._counts_characters else units(text[start:offset], self.encoding)

    def ends(self, span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the lines and characters of the start and the end of a span."""
        line, character = start = self.line_and_character(span.start)
        text = self.source.text[span.start : span.end]
        if "\n" in text or "\r" in text:
            return start, self.line_and_character(span.end)
        return start, (line, character + (len(text) if self._counts_characters else units(text, self.encoding)))

    def range(self, span: Span) -> types.Range:
        """Return the range of a span."""
        start, end = self.ends(span)
        return types.Range(types.Position(*start), types.Position(*end))
