"""The completion context at an offset of a text that may not be valid YAML or C++ yet, and the proposals.

The lines of the item around the cursor are read by their indentation: enough to determine the entry, the key and the
formula up to the cursor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from derivlint.lsp.analysis import DocumentAnalysis
from derivlint.model.keys import DISPATCH, NAME, OUTPUT_DIFFERENTIABILITY
from derivlint.model.layout import PLAIN
from derivlint.source import Span

_KEY = re.compile(r"""(?P<key>"[^"\n]*"|'[^'\n]*'|[^\s#'"\[\]{}:][^:\n#]*?)[ \t]*:(?=[ \t]|$)""")
_ITEM = re.compile(r"[ \t]*-(?=[ \t]|$)[ \t]*")
_SUPPRESSION = re.compile(r"#[ \t]*derivlint[ \t]*:[ \t]*ignore(?:-file)?[ \t]*\[(?P<names>[^\]\n]*)$", re.IGNORECASE)
_BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\n]*)?(?:\n|$)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class DraftPair(Struct, frozen=True):
    """A key of the item and its value, possibly incomplete.

    Attributes:
        path: the enclosing keys: ``dispatch`` and a dispatch key.
        key: the key, without quotes.
        start: the offset of the key.
        value: the range after the colon, up to the next key.
    """

    path: tuple[str, ...]
    key: str
    start: int
    value: Span

    @property
    def is_formula(self) -> bool:
        """Whether it is a key with a formula."""
        if self.path:
            return len(self.path) == 2
        return self.key not in (NAME, DISPATCH, OUTPUT_DIFFERENTIABILITY)


class CompletionContext(Struct, frozen=True):
    """The completion context at an offset.

    Attributes:
        text: the whole text with normalized line ends.
        offset: the cursor's offset.
        pairs: the keys of the item, in order.
        pair: the key whose value is being written, or None while a key is.
        path: the enclosing keys of a key that is being written.
    """

    text: str
    offset: int
    pairs: tuple[DraftPair, ...]
    pair: DraftPair | None
    path: tuple[str, ...] = ()

    @property
    def schema(self) -> str:
        """The schema in ``name:``, or an empty text."""
        pair = next((pair for pair in self.pairs if pair.key == NAME and not pair.path), None)
        return decoded(self.text[pair.value.start : pair.value.end]) if pair is not None else ""

    @property
    def before(self) -> str:
        """The decoded value up to the cursor."""
        assert self.pair is not None
        return decoded(self.text[self.pair.value.start : self.offset], is_whole=False)

    @property
    def key_before(self) -> str:
        """The key up to the cursor, without quotes."""
        start = self.text.rfind("\n", 0, self.offset) + 1
        line = self.text[start : self.offset]
        item = _ITEM.match(line)
        return line[item.end() if item is not None else 0 :].strip().lstrip("\"'")


def rule_being_written(text: str, offset: int) -> Span | None:
    """Return the range of an incomplete rule name in a suppression comment, or None."""
    start = text.rfind("\n", 0, offset) + 1
    match = _SUPPRESSION.search(text, start, offset)
    if match is None:
        return None
    name = match["names"].rpartition(",")[2].lstrip()
    return Span(offset - len(name), offset)


def completion_context(analysis: DocumentAnalysis, text: str, offset: int) -> CompletionContext | None:
    """Return the context at an offset, or None in comments and outside of items.

    Args:
        analysis: the last text that could be read, for the indentation of items.
        text: the current text.
        offset: the cursor's offset in it.
    """
    # normalize line ends without moving offsets
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    lines = list(_item_lines(text, offset, _indent(analysis)))
    if not lines:
        return None
    own = text[text.rfind("\n", 0, offset) + 1 : offset]
    if own.lstrip().startswith("#"):
        return None
    pairs = tuple(_pairs(text, lines))
    current = [pair for pair in pairs if pair.start <= offset]
    if not current:
        return CompletionContext(text, offset, pairs, None)
    last = current[-1]
    if offset < last.value.start:
        return CompletionContext(text, offset, pairs, None, last.path)
    column = len(own) - len(own.lstrip(" "))
    if text.count("\n", last.value.start, offset) and (not own.strip() or column <= _column(text, last.start)):
        # a line of its own that is not deeper than a key begins another key
        path = _path_at(text, current, column)
        if path is not None:
            return CompletionContext(text, offset, pairs, None, path)
    is_quoted = text[last.value.start : last.value.end].lstrip()[:1] in ("'", '"')
    if not is_quoted and " #" in own[max(0, last.value.start - (offset - len(own))) :]:
        return None
    return CompletionContext(text, offset, pairs, last)


def decoded(raw: str, *, is_whole: bool = True) -> str:
    """Decode an incomplete scalar approximately: quotes, escapes and folded line ends.

    Args:
        raw: the text after the colon.
        is_whole: whether the value is complete.
    """
    text = raw.lstrip(" \t")
    block = _BLOCK.match(text)
    if block is not None:
        return _folded(text[block.end() :], is_whole)
    quote = text[:1] if text[:1] in ("'", '"') else ""
    if quote:
        text = text[1:]
        end = _closing(text, quote)
        text = _folded(text if end is None else text[:end], is_whole or end is not None)
        return _ESCAPED.sub(r"\1", text) if quote == '"' else text.replace("''", "'")
    return _folded(text.partition(" #")[0] if is_whole else text, is_whole)


# ---- lines


def _indent(analysis: DocumentAnalysis) -> int:
    """Return the column of the dashes of items."""
    entries = analysis.model.all_entries
    if not entries or analysis.model.layout == PLAIN:
        return 0
    column = analysis.source.position(entries[0].span.start).column - 1
    return max(column - 2, 0)


def _item_lines(text: str, offset: int, indent: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line of the item at an offset."""
    start = text.rfind("\n", 0, offset) + 1
    while not _begins_item(text, start, indent):
        if start == 0:
            return
        if _is_outside(text, start, indent):
            return
        start = text.rfind("\n", 0, start - 1) + 1
    first = True
    while start < len(text) or first:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if not first and (_begins_item(text, start, indent) or (start > offset and _is_outside(text, start, indent))):
            return
        yield start, end
        first = False
        start = end + 1


def _begins_item(text: str, start: int, indent: int) -> bool:
    return text.startswith(" " * indent + "-", start) and text[start + indent + 1 : start + indent + 2] in (
        "", " ", "\t", "\n", "\r",
    )  # fmt: skip


def _is_outside(text: str, start: int, indent: int) -> bool:
    """Whether a line belongs to no item: it is not blank, no comment, and not indented."""
    end = text.find("\n", start)
    line = text[start : len(text) if end < 0 else end]
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#") and len(line) - len(line.lstrip(" ")) <= indent


def _column(text: str, offset: int) -> int:
    return offset - (text.rfind("\n", 0, offset) + 1)


class _OpenBracket(Struct):
    """A key whose value is a mapping."""

    column: int
    key: str


def _pairs(text: str, lines: list[tuple[int, int]]) -> Iterator[DraftPair]:
    pairs: list[tuple[tuple[str, ...], str, int, int]] = []
    ends: dict[int, int] = {}
    around: list[_OpenBracket] = []
    levels: list[int] = []
    for start, end in lines:
        item = _ITEM.match(text, start, end) if start == lines[0][0] else None
        begin = item.end() if item is not None else start
        while begin < end and text[begin] == " ":
            begin += 1
        column = begin - start
        match = _KEY.match(text, begin, end)
        if match is None:
            is_text = begin < end and text[begin] not in "#\r"
            if pairs and is_text and column <= levels[-1] and not _is_open_quote(text, pairs[-1][3], begin):
                # not a line of the value: another key is being written
                ends.setdefault(len(pairs) - 1, start)
            continue
        if levels and column > levels[-1]:
            if not (around and around[-1].column == levels[-1]):
                # a line of a folded value
                continue
            levels.append(column)
        elif not levels:
            levels.append(column)
        while levels and column < levels[-1]:
            levels.pop()
        if not levels or column != levels[-1]:
            return
        while around and around[-1].column >= column:
            around.pop()
        key = match["key"].strip("\"'")
        path = tuple(part.key for part in around)
        pairs.append((path, key, begin, match.end()))
        opens = (not path and key == DISPATCH) or len(path) == 1
        if opens and not text[match.end() : end].strip():
            around.append(_OpenBracket(column, key))
    for number, (path, key, begin, value) in enumerate(pairs):
        stop = pairs[number + 1][2] if number + 1 < len(pairs) else lines[-1][1]
        stop = min(stop, ends.get(number, stop))
        yield DraftPair(path, key, begin, Span(value, max(value, stop)))


def _path_at(text: str, pairs: list[DraftPair], column: int) -> tuple[str, ...] | None:
    """Return the enclosing keys of a key at a column, or None if no key can begin there."""
    last = pairs[-1]
    opens = not text[last.value.start : last.value.end].strip() and (
        (not last.path and last.key == DISPATCH) or len(last.path) == 1
    )
    if opens and column > _column(text, last.start):
        return (*last.path, last.key)
    for pair in reversed(pairs):
        if _column(text, pair.start) == column:
            return pair.path
    return None


def _is_open_quote(text: str, start: int, end: int) -> bool:
    """Whether a quoted value that begins after a colon is still open at an offset."""
    value = text[start:end].lstrip(" \t")
    return value[:1] in ("'", '"') and _closing(value[1:], value[0]) is None


def _closing(text: str, quote: str) -> int | None:
    """Return the end of a quoted text, or None if it is not closed."""
    index = 0
    while index < len(text):
        char = text[index]
        if char == "\\" and quote == '"':
            index += 2
            continue
        if char == quote:
            if quote == "'" and text[index + 1 : index + 2] == "'":
                index += 2
                continue
            return index
        index += 1
    return None


def _folded(text: str, is_whole: bool) -> str:
    lines = text.replace("\r\n", "\n").split("\n")
    joined = " ".join(line.strip() for line in lines[:-1] if line.strip())
    last = lines[-1].strip() if len(lines) > 1 else lines[-1]
    if len(lines) > 1 and not is_whole:
        last = lines[-1].lstrip()
    text = f"{joined} {last}" if joined else last
    return text.strip() if is_whole else text


# ---- proposals

#: The maximum number of proposals sent; the editor requests them again after more input.
MAX_PROPOSALS = 200


class Completion(Struct, frozen=True):
    """A proposal.

    Attributes:
        label: the text in the list.
        kind: a name of the protocol's ``CompletionItemKind``.
        text: the text that is inserted.
        span: the range of the current text that it replaces.
        detail: one line of details.
        sort: the key by which proposals are sorted.
        documentation: the documentation, as Markdown.
        deprecated: whether it is deprecated.
        data: the argument of :func:`~derivlint.lsp.features.completions.formula_completion.resolve`, which returns the
            documentation; else empty.
    """

    label: str
    kind: str
    text: str
    span: Span
    detail: str = ""
    sort: str = ""
    documentation: str = ""
    deprecated: bool = False
    data: str = ""


class Completions(Struct, frozen=True):
    """A list of proposals; the editor requests an incomplete list again after more input."""

    items: tuple[Completion, ...]
    is_complete: bool = True
