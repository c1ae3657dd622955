r"""The decode map of a scalar: the source range of each decoded character.

YAML changes text in four ways: line ends inside a scalar fold to spaces, blank lines become newlines, indentation is
dropped, and escapes denote other characters. The functions here decode a scalar again and track offsets. A map is
returned only if this decoding equals the value from the YAML parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

#: The start and end offsets of each decoded character in the source.
DecodeMap: TypeAlias = tuple[list[int], list[int]]

#: YAML 1.1's line ends; ``\r\n`` counts as one.
BREAKS = "\r\n\x85\u2028\u2029"
_BLANKS = " \t"

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}


class _Decoded:
    """Decoded characters with their source ranges."""

    __slots__ = ("chars", "ends", "starts")

    def __init__(self) -> None:
        self.chars: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def copy(self, text: str, start: int, end: int) -> None:
        """Add characters that are written as they are."""
        self.chars.append(text[start:end])
        self.starts.extend(range(start, end))
        self.ends.extend(range(start + 1, end + 1))

    def put(self, char: str, start: int, end: int) -> None:
        """Add one character that is written as ``text[start:end]``."""
        self.chars.append(char)
        self.starts.append(start)
        self.ends.append(end)


def written_end(text: str, end: int, style: str) -> int:
    """The end of the text that determines a scalar's value: trailing white space may belong to a block scalar."""
    if style in ("literal", "folded"):
        while end < len(text) and text[end].isspace():
            end += 1
    return end


def decode_map(written: str, value: str, style: str) -> DecodeMap | None:
    """The map of a scalar that is written as ``written`` and decodes to ``value``, or None if it is uncertain."""
    end = len(written)
    if not value:
        place = 0 if style == "plain" else min(1, end)
        return [place], [place]
    if style == "plain":
        decoded = _decode_flow(written, 0, end, "")
    elif style in ("single", "double"):
        decoded = _decode_flow(written, 1, end - 1, style)
    else:
        decoded = _decode_block(written, value, folded=style == "folded")
    if decoded is None or "".join(decoded.chars) != value:
        return None
    return decoded.starts, decoded.ends


def break_end(text: str, offset: int) -> int:
    """The offset after the line end at ``offset``."""
    return offset + (2 if text.startswith("\r\n", offset) else 1)


def _normal(text: str, offset: int) -> str:
    """The decoded form of the preserved line end at ``offset``."""
    return text[offset] if text[offset] in "\u2028\u2029" else "\n"


def _decode_flow(text: str, start: int, end: int, quote: str) -> _Decoded | None:
    """Decode a plain or quoted scalar: line folding, and escapes if ``quote`` is a quoted style."""
    decoded = _Decoded()
    offset = start
    special = {"": BREAKS + _BLANKS, "single": BREAKS + _BLANKS + "'", "double": BREAKS + _BLANKS + "\\"}[quote]
    while offset < end:
        char = text[offset]
        if char not in special:
            run = offset + 1
            while run < end and text[run] not in special:
                run += 1
            decoded.copy(text, offset, run)
            offset = run
        elif char == "'":
            decoded.put("'", offset, offset + 2)
            offset += 2
        elif char == "\\":
            after = offset + 1
            if after < end and text[after] in BREAKS:
                # An escaped line end joins the lines without a space, but blank lines after it become newlines.
                offset = _fold(decoded, text, break_end(text, after), end, escaped=True)
                continue
            width = _escape_width(text, after, end)
            if width == 0:
                return None
            decoded.put(_unescape(text, after, width), offset, after + width)
            offset = after + width
        else:
            run = offset
            while run < end and text[run] in _BLANKS:
                run += 1
            if run < end and text[run] in BREAKS:
                offset = _fold(decoded, text, run, end, escaped=False)
            else:
                decoded.copy(text, offset, run)
                offset = run
    return decoded


def _fold(decoded: _Decoded, text: str, offset: int, end: int, *, escaped: bool) -> int:
    """Fold the line ends and indentation from ``offset`` on; return the offset where the text resumes."""
    breaks = []
    while offset < end and text[offset] in BREAKS + _BLANKS:
        if text[offset] in BREAKS:
            breaks.append(offset)
            offset = break_end(text, offset)
        else:
            offset += 1
    if escaped or _normal(text, breaks[0]) != "\n":
        line_ends = breaks
    elif len(breaks) == 1:
        decoded.put(" ", breaks[0], offset)
        return offset
    else:
        line_ends = breaks[1:]
    for place in line_ends:
        decoded.put(_normal(text, place), place, break_end(text, place))
    return offset


def _escape_width(text: str, offset: int, end: int) -> int:
    """The number of characters of an escape after its backslash; 0 if it is invalid."""
    if offset >= end:
        return 0
    char = text[offset]
    if char in _HEX_ESCAPES:
        width = 1 + _HEX_ESCAPES[char]
        return width if offset + width <= end else 0
    return 1 if char in _ESCAPES else 0


def _unescape(text: str, offset: int, width: int) -> str:
    if width == 1:
        return _ESCAPES[text[offset]]
    try:
        return chr(int(text[offset + 1 : offset + width], 16))
    except (ValueError, OverflowError):
        return ""


class _DecodedLine(NamedTuple):
    """A line of a block scalar: its start, its text after leading spaces, and its line end."""

    start: int
    text: int
    end: int


def _decode_block(text: str, value: str, *, folded: bool) -> _Decoded | None:
    """Decode a block scalar: a header, then the indented lines."""
    header_end = _line_end(text, 0)
    header = text[1:header_end].split(maxsplit=1)[0] if text[1:2] in set("+-123456789") else ""
    if header_end >= len(text):
        return None
    content = break_end(text, header_end)
    spaces = 0
    longest = 0
    for line in _lines(text, content):
        spaces = line.text - line.start
        if line.text < line.end:
            break
        longest = max(longest, spaces)
    else:
        spaces = longest
    if any(char.isdigit() for char in header):
        # ``|2`` counts from the parent's indentation, which is unknown here, so infer the indentation from the value.
        spaces -= _leading_spaces(value)
    indent = max(spaces, 1)
    chomp = "+" if "+" in header else "-" if "-" in header else ""
    return _decode_lines(text, content, indent, chomp, folded)


def _leading_spaces(value: str) -> int:
    """The indentation of the first line that is not blank, or of the longest line if all are blank."""
    longest = 0
    for line in re.split("[\n\u2028\u2029]", value):
        spaces = len(line) - len(line.lstrip(" "))
        if spaces < len(line):
            return spaces
        longest = max(longest, spaces)
    return longest


def _line_end(text: str, offset: int) -> int:
    match = _next_break().search(text, offset)
    return match.start() if match is not None else len(text)


@lru_cache(maxsize=1)
def _next_break() -> re.Pattern[str]:
    return re.compile(f"[{BREAKS}]")


def _lines(text: str, offset: int) -> Iterator[_DecodedLine]:
    while offset < len(text):
        end = _line_end(text, offset)
        first = offset
        while first < end and text[first] == " ":
            first += 1
        yield _DecodedLine(offset, first, end)
        offset = break_end(text, end)


def _decode_lines(text: str, content: int, indent: int, chomp: str, folded: bool) -> _Decoded:
    decoded = _Decoded()
    # The line ends since the last line with text: first its own, then those of blank lines.
    pending: list[int] = []
    any_text = False
    was_blank = False
    for line in _lines(text, content):
        if line.text - line.start < indent:
            if line.text < line.end:
                break
            if line.end < len(text):
                pending.append(line.end)
            continue
        begin = line.start + indent
        if begin == line.end:
            if line.end < len(text):
                pending.append(line.end)
            continue
        # In folded scalars too, the line ends around a line that begins with a blank are preserved.
        is_blank = text[begin] in _BLANKS
        if folded and any_text and not was_blank and not is_blank and pending and _normal(text, pending[0]) == "\n":
            if len(pending) == 1:
                decoded.put(" ", pending[0], begin)
            del pending[0]
        _put_breaks(decoded, text, pending)
        decoded.copy(text, begin, line.end)
        pending = [line.end] if line.end < len(text) else []
        any_text = True
        was_blank = is_blank
    if chomp == "+":
        _put_breaks(decoded, text, pending)
    elif not chomp and any_text:
        _put_breaks(decoded, text, pending[:1])
    return decoded


def _put_breaks(decoded: _Decoded, text: str, breaks: list[int]) -> None:
    for place in breaks:
        decoded.put(_normal(text, place), place, break_end(text, place))
