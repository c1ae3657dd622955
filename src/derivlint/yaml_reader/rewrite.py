"""Minimal edits of YAML: of a part of a scalar's value, or of a pair of a mapping.

An edit replaces the characters at the ranges of the decode map; new text is escaped for the scalar's style. The result
is decoded again, and the edit is dropped if it does not have exactly the intended value.
"""

from __future__ import annotations

import re
from functools import lru_cache

from derivlint.source import Span
from derivlint.yaml_reader.decode import BREAKS, break_end
from derivlint.yaml_reader.kinds import resolve_kind
from derivlint.yaml_reader.nodes import Mapping, Pair, Scalar

#: Characters that cannot begin a plain scalar; those of ``_BEFORE_TEXT`` can if text follows.
_INDICATORS = ",[]{}#&*!|>'\"%@`"
_BEFORE_TEXT = "-?:"


def rewrite(scalar: Scalar, start: int, end: int, text: str, *, in_flow: bool = False) -> tuple[Span, str] | None:
    """Make an edit that replaces ``value[start:end]`` of a scalar by another text, and changes nothing else.

    Args:
        scalar: the scalar.
        start: the first decoded character to replace.
        end: the offset after the last one.
        text: the new decoded text.
        in_flow: whether the scalar is inside ``[]`` or ``{}``, where plain scalars have more restrictions.

    Returns:
        the range of the file and its new characters; None if the scalar has no exact places, where its style
        cannot express the text, or where the range reaches into blank lines that a block keeps.
    """
    escaped = _escaped(scalar, text)
    if not scalar.exact or escaped is None:
        return None
    value = scalar.value[:start] + text + scalar.value[end:]
    spans = [scalar.range_of(start, end)]
    if spans[0].end > scalar.end:
        # the preserved blank lines after a block scalar are part of its value, but outside its range
        return None
    if start == end and start > 0:
        # an insertion before a folded line end has to precede the trailing blanks of the line
        behind = scalar.range_of(start - 1, start).end
        spans.append(Span(behind, behind))
    for span in spans:
        if _decodes_to(scalar, span, escaped, value, in_flow):
            return span, escaped
    return None


def _escaped(scalar: Scalar, text: str) -> str | None:
    """The characters that denote a text in a scalar's style, or None if there are none."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        return None
    if scalar.style == "double":
        return "".join(_double(char) for char in text)
    if not text.isprintable():
        return None
    return text.replace("'", "''") if scalar.style == "single" else text


def _double(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _decodes_to(scalar: Scalar, span: Span, escaped: str, value: str, in_flow: bool) -> bool:
    start, end = span
    old = scalar.text
    new = old[:start] + escaped + old[end:]
    stop = scalar.end + len(escaped) - (end - start)
    if scalar.style == "plain" and not _can_be_plain(new[scalar.start : stop], value, scalar.tag is None, in_flow):
        return False
    return Scalar(scalar.start, stop, scalar.tag, value, scalar.style, new, scalar.kind).exact


def _can_be_plain(written: str, value: str, untagged: bool, in_flow: bool) -> bool:
    """Whether characters form one plain scalar that is still a string."""
    if not value or value != value.strip() or (untagged and resolve_kind(value) != "str"):
        return False
    first, second = written[0], written[1:2]
    if first in _INDICATORS or (first in _BEFORE_TEXT and (not second or second in " \t" + BREAKS)):
        return False
    # "---" and "..." end documents at the beginning of a line
    return _ends_plain(in_flow).search(written) is None and not re.search(r"(?:^|[\r\n])(?:---|\.\.\.)", written)


@lru_cache(maxsize=2)
def _ends_plain(in_flow: bool) -> re.Pattern[str]:
    colon = r":(?=[\s,\[\]{}]|$)|[,\[\]{}?]" if in_flow else r":(?=\s|$)"
    return re.compile(rf"{colon}|\s#")


def removal(mapping: Mapping, pair: Pair) -> Span | None:
    """The lines that contain exactly one pair of a block mapping, or None.

    Args:
        mapping: the mapping.
        pair: the pair.
    """
    key, value = pair
    if mapping.flow or len(mapping.pairs) < 2 or not isinstance(key, Scalar) or value.start < key.end:
        return None
    text = key.text
    start, end = key.start, max(key.end, value.end)
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    while end < len(text) and text[end] in " \t":
        end += 1
    begins = start == 0 or text[start - 1] in BREAKS
    if not begins or (end < len(text) and text[end] not in BREAKS):
        return None
    if end < len(text):
        return Span(start, break_end(text, end))
    # the last line has no line end: remove the one before it
    while start > 0 and text[start - 1] in BREAKS:
        start -= 1
    return Span(start, end)
