"""The syntax of suppressions.

``# derivlint: ignore[rule, rule] reason`` and ``# derivlint: ignore-file[rule] reason``. Their scopes are in
:mod:`derivlint.lint.suppressions.suppression`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from derivlint.lint.wording import closest, quoted
from derivlint.source import Span
from derivlint.source.file import BOM
from derivlint.yaml_reader import Document, Mapping, Scalar, Sequence, YamlNode
from derivlint.yaml_reader.decode import BREAKS

IGNORE = "ignore"
IGNORE_FILE = "ignore-file"
#: The suppression keywords of other linters.
_FOREIGN = ("disable", "noqa", "nolint", "suppress", "allow")
#: The maximum number of names in a suppression; each unknown name is a finding.
MAX_NAMES = 1000
_FORM = 'write "# derivlint: ignore[rule, rule] reason"'


@lru_cache(maxsize=1)
def _head() -> re.Pattern[str]:
    """The pattern of the start of a suppression: number sign, name, colon and the word after it."""
    # searching a character is faster than a leading lookbehind
    return re.compile(r"#(?<![^\s\ufeff]#)[ \t]*(derivlint)\b([ \t]*:)?[ \t]*([^\s\[\],:#]*)", re.IGNORECASE)


@lru_cache(maxsize=1)
def _comment_start() -> re.Pattern[str]:
    return re.compile(r"(?<![^\s\ufeff])#")


@lru_cache(maxsize=1)
def _comment_end() -> re.Pattern[str]:
    return re.compile(rf"[{BREAKS}]|\Z")


class Comment(Struct, frozen=True):
    """A comment of a YAML file.

    Attributes:
        span: from the number sign to the end of the line.
        own_line: whether nothing else is on its line.
    """

    span: Span
    own_line: bool


class SuppressedName(Struct, frozen=True):
    """The name of a rule in a suppression, with its span."""

    text: str
    span: Span


class Malformed(Struct, frozen=True):
    """A mistake in a suppression, which makes it ineffective.

    Attributes:
        message: the fact.
        help: the cure.
        span: its span.
        instead: the replacement for ``Suppression.head``, or None.
    """

    message: str
    help: str
    span: Span
    instead: str | None = None


class Suppression(Struct, frozen=True):
    """A comment or a part of one that suppresses findings, or is meant to.

    Attributes:
        comment: the comment.
        span: from the number sign to the end of the reason.
        head: from the number sign to the closing bracket.
        kind: ``ignore`` or ``ignore-file``; empty for other words.
        names: the rules; empty if it is malformed.
        inside: the range of the text between the brackets; empty without brackets.
        reason: the text after the brackets.
        malformed: the mistake in it.
    """

    comment: Comment
    span: Span
    head: Span
    kind: str
    names: tuple[SuppressedName, ...]
    inside: Span
    reason: str
    malformed: Malformed | None = None


def end_of_text(text: str, end: int, blanks: str | None = None) -> int:
    """The end of the text before an offset, without trailing ``blanks``; by default Python's."""
    while end > 0 and (text[end - 1].isspace() if blanks is None else text[end - 1] in blanks):
        end -= 1
    return end


def read_suppressions(document: Document) -> tuple[Suppression, ...]:
    """Return the suppressions of a file in order, including malformed ones."""
    text = document.source.text
    if "derivlint" not in document.source.lowered:
        return ()
    suppressions: list[Suppression] = []
    comments = Comments(document)
    lines = dict.fromkeys(document.source.position(match.start()).line for match in _head().finditer(text))
    for line in lines:
        comment = comments.on_line(line)
        if comment is not None:
            suppressions.extend(_suppressions(text, comment))
    return tuple(suppressions)


class Comments:
    """The comments of a file: number signs outside scalars."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._source = document.source
        #: the sorted scalars of each node, by offset of its text
        self._scalars: dict[int, list[Scalar]] = {}

    def on_line(self, number: int) -> Comment | None:
        """The comment on a 1-based line, or None."""
        text = self._source.text
        line = self._source.line_starts[number - 1]
        end = line + len(self._source.line(number))
        for match in _comment_start().finditer(text, line, end):
            start = match.start()
            if not self._in_scalar(start):
                stop = _comment_end().search(text, start)
                assert stop is not None
                before = text[line:start].removeprefix(BOM if line == 0 else "")
                return Comment(Span(start, stop.start()), not before.strip())
        return None

    def _in_scalar(self, offset: int) -> bool:
        """Whether a character is in a scalar; the header of a block scalar does not count."""
        around = self._document.node_around(offset)
        if around is None:
            return False
        node, base = around
        offset -= base
        scalars = self._scalars.get(base)
        if scalars is None:
            scalars = self._scalars[base] = sorted(_scalars(node), key=_start)
        index = bisect_right(scalars, offset, key=_start) - 1
        if index < 0:
            return False
        scalar = scalars[index]
        if offset >= scalar.end:
            return False
        if scalar.style not in ("literal", "folded"):
            return True
        stop = _comment_end().search(scalar.text, scalar.start)
        return stop is not None and stop.start() < offset


def _start(scalar: Scalar) -> int:
    return scalar.start


def _scalars(root: YamlNode) -> Iterator[Scalar]:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, Scalar):
            # empty scalars contain no number sign
            if node.start < node.end:
                yield node
        elif isinstance(node, Sequence):
            todo.extend(node.items)
        elif isinstance(node, Mapping):
            todo.extend(part for pair in node.pairs for part in pair)


def _suppressions(text: str, comment: Comment) -> Iterator[Suppression]:
    start, end = comment.span
    heads = list(_head().finditer(text, start, end))
    # a line separator that only YAML recognizes may end the comment earlier
    ends = [*(match.start() for match in heads), end][1:]
    for head, behind in zip(heads, ends, strict=True):
        suppression = _read(text, comment, head, behind)
        if suppression is not None:
            yield suppression


def _read(text: str, comment: Comment, match: re.Match[str], end: int) -> Suppression | None:
    """Parse a comment that begins with ``# derivlint``; None for prose."""
    end = match.end() + len(text[match.end() : end].rstrip())
    word, after = match.group(3), match.end()
    opening = after + len(text[after:end]) - len(text[after:end].lstrip(" \t"))
    has_bracket = text[opening : opening + 1] == "[" and opening < end
    if match.group(2) is None and not (has_bracket and word.lower() in (IGNORE, IGNORE_FILE)):
        return None
    start = match.start()
    word_span = Span(match.start(3), after) if word else Span(start, after)
    kind = word.lower() if word.lower() in (IGNORE, IGNORE_FILE) else ""
    nowhere = Span(after, after)
    if not kind:
        near = IGNORE if word.lower() in _FOREIGN else closest(word, (IGNORE, IGNORE_FILE)) if word else None
        help_text = f"did you mean {quoted(near)}?" if near is not None else _FORM
        message = f"{quoted(word)} is not a known suppression comment" if word else "the comment asks for nothing"
        problem = Malformed(message, help_text, word_span, f"# derivlint: {near}" if near and has_bracket else None)
        head = Span(start, after)
        return Suppression(comment, Span(start, end), head, "", (), nowhere, "", problem)
    closing = text.find("]", opening, end) if has_bracket else -1
    if not has_bracket:
        problem = Malformed(f"{quoted(kind)} names no rule", f'write "{kind}[rule, rule] reason"', word_span)
        return Suppression(comment, Span(start, end), Span(start, after), kind, (), nowhere, "", problem)
    if closing < 0:
        return _unclosed(text, comment, Span(start, end), opening, kind)
    inside = Span(opening + 1, closing)
    n_names = text.count(",", *inside) + 1
    if n_names > MAX_NAMES:
        problem = Malformed(f"{quoted(kind)} names {n_names} rules", f"name at most {MAX_NAMES}", word_span)
        return Suppression(comment, Span(start, end), Span(start, closing + 1), kind, (), inside, "", problem)
    names = tuple(_names(text, inside))
    reason = text[closing + 1 : end].strip()
    head = Span(start, closing + 1)
    problem_or_none = _slip(text, match, opening, closing, end, kind, names)
    return Suppression(comment, Span(start, end), head, kind, names, inside, reason, problem_or_none)


def _unclosed(text: str, comment: Comment, span: Span, opening: int, kind: str) -> Suppression:
    written = re.compile(r"[ \t]*[a-z0-9-]+(?:[ \t]*,[ \t]*[a-z0-9-]+)*").match(text, opening + 1, span.end)
    stop = written.end() if written is not None else opening + 1
    instead = f"# derivlint: {kind}[{text[opening + 1 : stop].strip()}]" if written is not None else None
    problem = Malformed('the "[" is never closed', 'close it with "]"', Span(opening, opening + 1), instead)
    return Suppression(comment, span, Span(span.start, stop), kind, (), Span(stop, stop), "", problem)


def _slip(
    text: str,
    match: re.Match[str],
    opening: int,
    closing: int,
    end: int,
    kind: str,
    names: tuple[SuppressedName, ...],
) -> Malformed | None:
    """The mistake in a comment with kind, brackets and names, or None."""
    written = [name.text for name in names if name.text]
    instead = f"# derivlint: {kind}[{', '.join(written)}]" if written else None
    whole = Span(match.start(), closing + 1)
    if not written:
        return Malformed(f"{quoted(kind)} names no rule", f'write "{kind}[rule, rule] reason"', whole)
    for name in names:
        if name.text in ("*", "all"):
            return Malformed(f"{quoted(name.text)} is not a rule", "name each rule", name.span)
        if not name.text:
            return Malformed("a name is missing beside a comma", "delete the comma", whole, instead)
    if match.group(2) is None:
        return Malformed('the ":" after "derivlint" is missing', "add it", whole, instead)
    if match.group(1) != "derivlint" or match.group(3) != kind:
        return Malformed(f"suppressions are lower case, {quoted('derivlint: ' + kind)}", _FORM, whole, instead)
    if opening > match.end():
        return Malformed(f'blanks are between {quoted(kind)} and "["', "delete them", whole, instead)
    if closing + 1 < end and text[closing + 1] not in " \t":
        return Malformed('a blank is missing after "]"', "add it", whole, f"{instead} ")
    return None


def _names(text: str, inside: Span) -> Iterator[SuppressedName]:
    start = inside.start
    for piece in text[inside.start : inside.end].split(","):
        name = piece.strip()
        begin = start + len(piece) - len(piece.lstrip()) if name else start
        yield SuppressedName(name, Span(begin, begin + len(name)))
        start += len(piece) + 1
