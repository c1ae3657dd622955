"""The positions of keys and values in a TOML text, which the standard library's parser does not return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from derivlint.source import Span

#: The maximum depth of values with positions of their own; the total length of deeper paths would be quadratic. No
#: setting is that deep.
MAX_DEPTH = 200
#: The path to a value from the top of the document: keys of tables, indexes of arrays.
Way = tuple["str | int", ...]

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_BLANK = " \t"
_BLANK_OR_LINE_END = " \t\r\n"


class KeyPlace(Struct, frozen=True):
    """The positions of a key and its value.

    Attributes:
        key: the key, the last part of a dotted one; None for an element of an array.
        value: the value; of a table with a header, the header's key.
    """

    key: Span | None
    value: Span


def places(text: str, loads: Callable[[str], dict[str, Any]]) -> dict[Way, KeyPlace]:
    """Return the position of every key and value; of repeated tables, the first one.

    Args:
        text: valid TOML; for other texts the result is unspecified.
        loads: the parser, for the escapes of quoted keys.
    """
    scanner = _Scanner(text, loads)
    scanner.document()
    return scanner.found


def _deeper(way: Way, part: str | int) -> Way:
    return (*way, part) if len(way) < MAX_DEPTH else way


class _Scanner:
    """A scanner of valid TOML, in one pass."""

    def __init__(self, text: str, loads: Callable[[str], dict[str, Any]]) -> None:
        self.text = text
        self.loads = loads
        self.at = 0
        self.found: dict[Way, KeyPlace] = {}
        #: The number of tables in each array of tables so far.
        self.lengths: dict[Way, int] = {}

    def document(self) -> None:
        table: Way = ()
        while self.skip(_BLANK_OR_LINE_END):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            # only a comment may follow a header or a pair; anything else is skipped
            self.line_end()

    def char(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self, chars: str) -> bool:
        """Skip blanks, and with line ends also comments; return whether text remains."""
        while self.at < len(self.text):
            if self.text[self.at] in chars:
                self.at += 1
            elif self.text[self.at] == "#" and "\n" in chars:
                self.line_end()
            else:
                return True
        return False

    def line_end(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def header(self) -> Way:
        """Read ``[a.b]`` or ``[[a.b]]``, and return the path of the table."""
        repeated = self.text.startswith("[[", self.at)
        self.at += 2 if repeated else 1
        keys = self.keys()
        whole = Span(keys[0][1].start, keys[-1][1].end)
        way: Way = ()
        for number, (key, span) in enumerate(keys, 1):
            way = _deeper(way, key)
            self.found.setdefault(way, KeyPlace(span, whole))
            if repeated and number == len(keys):
                self.lengths[way] = self.lengths.get(way, 0) + 1
            if way in self.lengths:
                # a header continues in the last table of an array
                way = _deeper(way, self.lengths[way] - 1)
                self.found.setdefault(way, KeyPlace(None, whole))
        return way

    def pair(self, table: Way) -> None:
        """Read ``a.b = value``."""
        keys = self.keys()
        whole = Span(keys[0][1].start, keys[-1][1].end)
        way = table
        for key, span in keys[:-1]:
            way = _deeper(way, key)
            self.found.setdefault(way, KeyPlace(span, whole))
        self.at += 1  # "="
        self.value(_deeper(way, keys[-1][0]), keys[-1][1])

    def keys(self) -> list[tuple[str, Span]]:
        """Read the parts of a dotted key."""
        keys = [self.key()]
        while self.skip(_BLANK) and self.char() == ".":
            self.at += 1
            keys.append(self.key())
        return keys

    def key(self) -> tuple[str, Span]:
        self.skip(_BLANK)
        start = self.at
        if self.char() in ('"', "'"):
            self.string()
            text = self.text[start : self.at]
            name: str = self.loads(f"key = {text}")["key"]
            return name, Span(start, self.at)
        while self.at < len(self.text) and self.text[self.at] in _BARE:
            self.at += 1
        return self.text[start : self.at], Span(start, self.at)

    def value(self, way: Way, key: Span | None) -> None:
        self.skip(_BLANK)
        start = self.at
        # the position of a table or an array comes before those of its elements
        self.found[way] = KeyPlace(key, Span(start, start))
        first = self.char()
        if first in ('"', "'"):
            self.string()
        elif first == "[":
            self.elements("]", lambda index: self.value(_deeper(way, index), None))
        elif first == "{":
            self.elements("}", lambda _: self.pair(way))
        else:
            self.plain()
        self.found[way] = KeyPlace(key, Span(start, self.at))

    def elements(self, end: str, element: Callable[[int], None]) -> None:
        """Read the elements of an array or an inline table."""
        self.at += 1
        index = 0
        while self.skip(_BLANK_OR_LINE_END) and self.char() != end:
            before = self.at
            element(index)
            index += 1
            if self.skip(_BLANK_OR_LINE_END) and self.char() == ",":
                self.at += 1
            if self.at == before:
                return
        self.at += 1

    def plain(self) -> None:
        """Skip a number, a boolean or a date, which may contain a blank."""
        end = self.at
        while end < len(self.text) and self.text[end] not in ",]}#\n":
            end += 1
        self.at += len(self.text[self.at : end].rstrip())

    def string(self) -> None:
        """Skip a string of any of the four kinds, with its quotes."""
        quote = self.text[self.at]
        several_lines = self.text.startswith(quote * 3, self.at)
        closing = quote * 3 if several_lines else quote
        self.at += len(closing)
        while self.at < len(self.text) and not self.text.startswith(closing, self.at):
            self.at += 2 if quote == '"' and self.text[self.at] == "\\" else 1
        self.at += len(closing)
        # up to two quotes may precede the closing ones
        while several_lines and self.char() == quote:
            self.at += 1
        self.at = min(self.at, len(self.text))
