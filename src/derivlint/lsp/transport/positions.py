"""Positions of the protocol: lines from 0 and characters in the negotiated unit, against offsets in code points."""

from __future__ import annotations

from lsprotocol import types

from derivlint.source import SourceFile, Span

UTF8 = "utf-8"
UTF16 = "utf-16"
UTF32 = "utf-32"


def preferred_encoding(offered: list[str] | None) -> str:
    """The encoding to use with a client.

    UTF-16, which every client supports, if it is offered: editors that use several servers for one file need
    the same from all of them, and most servers know nothing else.

    Args:
        offered: the encodings that the client offers, or None, which means UTF-16.
    """
    if not offered or UTF16 in offered:
        return UTF16
    return next((name for name in offered if name in (UTF8, UTF32)), UTF16)


def units(text: str, encoding: str) -> int:
    """The length of a text in code units of an encoding."""
    if text.isascii() or encoding == UTF32:
        return len(text)
    if encoding == UTF16:
        return len(text) + sum(char > "\uffff" for char in text)
    # half of a surrogate pair, which a client may send, counts like the replacement character
    return sum(1 + (char > "\x7f") + (char > "\u07ff") + (char > "\uffff") for char in text)


def characters(text: str, count: int, encoding: str) -> int:
    """The number of characters in so many code units of a text; a unit within a character counts for its beginning."""
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
        """The offset of a position; after the end of a line it means the line's end, after the text the text's."""
        starts = self.source.line_starts
        if position.line >= len(starts):
            return len(self.source.text)
        text = self.source.line(position.line + 1)
        return starts[position.line] + characters(text, position.character, self.encoding)

    def span(self, where: types.Range) -> Span:
        """The range of offsets."""
        start = self.offset(where.start)
        return Span(start, max(start, self.offset(where.end)))

    def position(self, offset: int) -> types.Position:
        """The position of an offset."""
        return types.Position(*self.line_and_character(offset))

    def line_and_character(self, offset: int) -> tuple[int, int]:
        """The two numbers of a position."""
        text = self.source.text
        offset = min(offset, len(text))
        line, start = self.source.line_at(offset)
        return line, offset - start if self._counts_characters else units(text[start:offset], self.encoding)

    def ends(self, span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
        """The two numbers of the position where a span begins, and of that where it ends."""
        line, character = start = self.line_and_character(span.start)
        text = self.source.text[span.start : span.end]
        if "\n" in text or "\r" in text:
            return start, self.line_and_character(span.end)
        return start, (line, character + (len(text) if self._counts_characters else units(text, self.encoding)))

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        start, end = self.ends(span)
        return types.Range(types.Position(*start), types.Position(*end))
