r"""List items that are written line by line, read without a YAML parser.

Nearly every item of the files that we read is a mapping with one key a line:

    - func: abs(Tensor self) -> Tensor
      variants: function, method  # comment
      dispatch:
        CPU, CUDA: abs
      tags: [core, pointwise]

One regular expression matches such a line, and the nodes follow from the places of its groups. Many lines are the same,
so that each is matched once. A parser needs several times as long.

The expressions only match what has one meaning: ASCII, plain scalars of one line without ``: `` and ``#``, quoted ones
without escapes, lists of names, blocks of literal text without blank lines. An item with anything else is left to the
parser. That is sound because an item means the same on its own as between others, if no document marker and no alias
joins them: a line that starts with ``- `` ends whatever the item before it left open, but for quotes and brackets, and
an item with open ones is refused by the parser.
"""

from __future__ import annotations

import re
from functools import lru_cache
from sys import intern
from typing import Final, NamedTuple, TypeAlias

from derivlint.source import Span
from derivlint.yaml_reader.kinds import ScalarKind, resolve_kind
from derivlint.yaml_reader.nodes import Mapping, Pair, Scalar, ScalarStyle, Sequence, YamlNode

# A value's blanks at the end, before a comment, are matched as its part.
_TEXT: Final = r'[ !"$-9;-~]*'
_PLAIN_TEXT: Final = rf"-?[A-Za-z0-9_(]{_TEXT}(?::(?=[!-~]){_TEXT})*"
_DOUBLE_TEXT: Final = r"[ !\#-\[\]-~]*"
_SINGLE_QUOTED: Final = r"'[ -&(-~]*'"
_LISTED: Final = rf'(?:[A-Za-z_][A-Za-z0-9_.]*|"{_DOUBLE_TEXT}"|{_SINGLE_QUOTED})'
_KEY: Final = r"(-[ ]|[ ]*)([A-Za-z_][A-Za-z0-9_,. ]{0,200})(?<![ ]):"
_COMMENT: Final = r"(?:(?<=[ ])\#[\t -~]*)?\r?"

#: A key and its value on one line, or an item of a list below a key.
_LINE: Final = re.compile(
    rf"""(?:{_KEY}(?:[ ]+(?:({_PLAIN_TEXT})|("{_DOUBLE_TEXT}")[ ]*|({_SINGLE_QUOTED})[ ]*
        |(\[{_LISTED}(?:,[ ]*{_LISTED})*\])[ ]*|(\{{\}})[ ]*)|[ ]*)
    |[ ]*-[ ]+({_PLAIN_TEXT})){_COMMENT}""",
    re.VERBOSE,
)
#: The styles of a line are the groups of ``_LINE`` that hold its value; those of other lines follow.
_NO_VALUE, _PLAIN, _DOUBLE, _SINGLE, _LIST, _EMPTY, _LIST_ITEM, _LITERAL, _BLANK, _ODD = range(2, 12)
_SCALARS: Final[dict[int, ScalarStyle]] = {_PLAIN: "plain", _DOUBLE: "double", _SINGLE: "single", _LITERAL: "literal"}

_SKIPPED: Final = re.compile(r"[ ]*(?:#[\t -~]*)?\r?")
_LISTED_ITEM: Final = re.compile(_LISTED, re.VERBOSE)

#: A key with a value of several lines, none blank: in double quotes, or a block of literal text. What looks
#: like a comment after a block belongs to it where it is indented as far.
_LINES: Final = re.compile(
    rf"""{_KEY}[ ]+(?:("{_DOUBLE_TEXT}(?:\r?\n[ ]+(?![ \r\n]){_DOUBLE_TEXT})+")[ ]*{_COMMENT}
    |(\|[ ]*\r?\n([ ]+)[!-~][ -~]*(?:\r?\n\5[ ]*[!-~][ -~]*)*)(?=(?:\r?\n)+(?:(?!\5)[ ]*[!-~]|\Z))\r?)(?:\n|\Z)""",
    re.VERBOSE,
)
_FOLD: Final = re.compile(r"[ ]*\r?\n[ ]+")

#: First characters of what might be a number or a date.
_NUMBER: Final = frozenset("-0123456789")

#: Mappings that are nested deeper are left to the parser, which knows a limit.
MAX_DEPTH: Final = 8


_Listed: TypeAlias = tuple[tuple[int, str, ScalarKind, int, int], ...]


class _Line(NamedTuple):
    """What a line says; places are counted from its start.

    Attributes:
        style: one of the numbers above.
        is_first: whether it is the first of an item: it begins with a dash.
        column: where its key begins, or the dash of the item of an inner list.
        key: the key.
        key_end: where it ends.
        key_kind: the kind of the key.
        value: the value.
        kind: the kind of the value.
        start: where the value begins, with its quotes.
        end: where it ends.
        listed: style, value, kind, start and end of the items of a list in brackets.
    """

    style: int
    is_first: bool = False
    column: int = 0
    key: str = ""
    key_end: int = 0
    key_kind: ScalarKind = "str"
    value: str = ""
    kind: ScalarKind = "str"
    start: int = 0
    end: int = 0
    listed: _Listed = ()


_BLANK_LINE: Final = _Line(_BLANK)
_ODD_LINE: Final = _Line(_ODD)


class LineReader:
    """Reads a text that is a list.

    Attributes:
        start: where the list begins.
        count: how many nodes were made.
    """

    def __init__(self, text: str, base: int, end: int | None = None) -> None:
        """Read a text, or a part of it that holds whole items.

        Args:
            text: the text.
            base: where to begin.
            end: where to end; by default at the end of the text.
        """
        self.text = text
        self.start = base
        self.count = 0
        self._is_part = end is not None
        self._lines = text[base:end].removesuffix("\n" if end is not None and end < len(text) else "").split("\n")

    def read(self) -> list[Mapping | Span] | None:
        """The items of the list: their nodes, or the range of one item or more that a parser has to read.

        None if the text is not a list, or might not mean the same when it is read in parts.
        """
        lines = self._lines
        index = 0
        while index < len(lines) and _line(lines[index]).style == _BLANK:
            self.start += len(lines[index]) + 1
            index += 1
        if index == len(lines) or not lines[index].startswith("- "):
            return None
        if not self._is_part and not can_be_split(self.text):
            return None
        items: list[Mapping | Span] = []
        offset = self.start
        while index < len(lines):
            item, index_behind, behind = self._item(index, offset)
            if item is None:
                index_behind, behind = self._next_item(index, offset)
                start = offset
                if items and isinstance(items[-1], Span):
                    # Parsers are slow to start, so that neighbours are read by one.
                    start = items.pop().start
                items.append(Span(start, min(behind, len(self.text))))
            else:
                items.append(item)
            index, offset = index_behind, behind
        return items

    def _next_item(self, index: int, offset: int) -> tuple[int, int]:
        """The line and the offset of the item after that at ``index``."""
        lines = self._lines
        while True:
            offset += len(lines[index]) + 1
            index += 1
            if index == len(lines) or lines[index].startswith("- "):
                return index, offset

    def _item(self, index: int, offset: int) -> tuple[Mapping | None, int, int]:
        """The mapping of the item at line ``index``, and the line and offset after it; None if a line is odd."""
        text = self.text
        lines = self._lines
        first = index
        begin = offset + 2
        pairs: list[Pair] = []
        indent = 2
        # The mappings around the innermost one: start, pairs so far, indentation, the key of the one in it.
        outer: list[tuple[int, list[Pair], int, Scalar]] = []
        open_key: Scalar | None = None
        end = offset
        count = 1
        while index < len(lines):
            written = lines[index]
            line = _line(written)
            style, is_first, column, name, name_end, name_kind, value, kind, start, stop, listed = line
            index_behind = index + 1
            behind = offset + len(written) + 1
            if line is _BLANK_LINE:
                index, offset = index_behind, behind
                continue
            if style == _ODD:
                several, number, behind = self._lines_at(offset)
                style, is_first, column, name, name_end, name_kind, value, kind, start, stop, listed = several
                index_behind = index + number
            if index != first and (is_first or (style == _ODD and written.startswith("- "))):
                break
            if style == _ODD or (index == first and not is_first):
                return None, index, offset
            if style == _LIST_ITEM:
                if open_key is None or column < indent:
                    return None, index, offset
                inner_list, index, offset = self._inner_list(index, offset, column)
                pairs.append(Pair(open_key, inner_list))
                open_key = None
                end = inner_list.end
                count += len(inner_list.items)
                continue
            if open_key is not None:
                if column <= indent or len(outer) == MAX_DEPTH:
                    return None, index, offset
                outer.append((begin, pairs, indent, open_key))
                begin, pairs, indent = offset + column, [], column
                open_key = None
            elif column != indent:
                while column < indent and outer:
                    inner = Mapping(begin, end, None, False, tuple(pairs))
                    begin, pairs, indent, inner_key = outer.pop()
                    pairs.append(Pair(inner_key, inner))
                if column != indent:
                    return None, index, offset
            key = Scalar(offset + column, offset + name_end, None, name, "plain", text, name_kind)
            count += 2
            if style == _PLAIN:
                end = offset + stop
                pairs.append(Pair(key, Scalar(offset + start, end, None, value, "plain", text, kind)))
            elif style == _NO_VALUE:
                open_key = key
            else:
                end = offset + stop
                pairs.append(Pair(key, self._value(style, value, offset + start, end, offset, listed)))
                count += len(listed)
            index, offset = index_behind, behind
        if open_key is not None:
            return None, index, offset
        root = Mapping(begin, end, None, False, tuple(pairs))
        while outer:
            begin, pairs, indent, inner_key = outer.pop()
            pairs.append(Pair(inner_key, root))
            root = Mapping(begin, end, None, False, tuple(pairs))
        self.count += count
        return root, index, offset

    def _value(self, style: int, value: str, start: int, end: int, offset: int, listed: _Listed) -> YamlNode:
        text = self.text
        if style == _EMPTY:
            return Mapping(start, end, None, True)
        if style == _LIST:
            items = tuple(
                Scalar(begin + offset, stop + offset, None, item, _SCALARS[how], text, kind)
                for how, item, kind, begin, stop in listed
            )
            return Sequence(start, end, None, True, items)
        return Scalar(start, end, None, value, _SCALARS[style], text, "str")

    def _inner_list(self, index: int, offset: int, column: int) -> tuple[Sequence, int, int]:
        """The list whose first item is line ``index``, and the line and offset after it."""
        start = offset + column
        items: list[Scalar] = []
        while index < len(self._lines):
            written = self._lines[index]
            line = _line(written)
            if line.style == _LIST_ITEM and line.column == column:
                place = offset + line.start, offset + line.end
                items.append(Scalar(*place, None, line.value, "plain", self.text, line.kind))
            elif line.style != _BLANK:
                break
            index += 1
            offset += len(written) + 1
        return Sequence(start, items[-1].end, None, False, tuple(items)), index, offset

    def _lines_at(self, offset: int) -> tuple[_Line, int, int]:
        """A key with a value of several lines, the number of the lines, and the offset after them."""
        match = _LINES.match(self.text, offset)
        if match is None:
            return _ODD_LINE, 1, offset
        column = match.start(2) - offset
        if match[3] is not None:
            style, value, (start, end) = _DOUBLE, _FOLD.sub(" ", match[3][1:-1]), match.span(3)
        else:
            indent = len(match[5])
            if indent <= column:
                return _ODD_LINE, 1, offset
            style, (start, end) = _LITERAL, match.span(4)
            value = "".join(f"{line[indent:]}\n" for line in match[4].splitlines()[1:])
        number = match[0].count("\n")
        behind = match.end()
        if not match[0].endswith("\n"):
            number += 1
            behind += 1
        line = _Line(
            style,
            match[1] == "- ",
            column,
            match[2],
            match.end(2) - offset,
            resolve_kind(match[2]),
            value,
            "str",
            start - offset,
            end - offset,
        )
        return line, number, behind


@lru_cache(maxsize=4096)
def _line(written: str) -> _Line:
    """What a line says by itself."""
    match = _LINE.fullmatch(written)
    if match is not None:
        return _matched(match)
    return _BLANK_LINE if _SKIPPED.fullmatch(written) is not None else _ODD_LINE


def _matched(match: re.Match[str]) -> _Line:
    style = match.lastindex
    assert style is not None
    start, end = match.span(style)
    value = match[style]
    kind: ScalarKind = "str"
    if style in (_PLAIN, _LIST_ITEM):
        if value[-1] == " ":
            value = value.rstrip(" ")
            end = start + len(value)
        kind = resolve_kind(value)
        if kind != "str" and value[0] in _NUMBER:
            return _ODD_LINE
        if style == _LIST_ITEM:
            return _Line(style, False, match.string.index("-"), value=value, kind=kind, start=start, end=end)
    listed: _Listed = ()
    if style == _LIST:
        listed = tuple(
            (*_unquoted(found[0]), *found.span()) for found in _LISTED_ITEM.finditer(match.string, start, end)
        )
    elif style in (_DOUBLE, _SINGLE):
        value = value[1:-1]
    # Lines that differ share their keys.
    key = intern(match[2])
    key_kind = resolve_kind(key)
    return _Line(style, match[1] == "- ", match.start(2), key, match.end(2), key_kind, value, kind, start, end, listed)


def _unquoted(written: str) -> tuple[int, str, ScalarKind]:
    """Style, value and kind of an item of a list in brackets."""
    if written[0] == '"' or written[0] == "'":
        return _DOUBLE if written[0] == '"' else _SINGLE, written[1:-1], "str"
    return _PLAIN, written, resolve_kind(written)


def can_be_split(text: str) -> bool:
    r"""Whether there are no document markers, and lines end with ``\n`` or ``\r\n`` only."""
    if "\n---" in text or "\n..." in text:
        return False
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return False
    return text.isascii() or not any(char in text for char in "\x85\u2028\u2029")
