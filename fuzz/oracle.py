"""What must hold of everything that derivlint finds and prints."""

from __future__ import annotations

import re
from collections.abc import Iterable

from derivlint.lint import INTERNAL_ERROR, Diagnostic
from derivlint.source import SourceFile, Span
from fuzz.target import Violation, require

#: Control characters, but for line ends: they steer terminals, and readers of logs.
_CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
#: Styles and links that derivlint itself writes where colours are asked for.
_STYLES = re.compile("\x1b\\[[0-9;]*m|\x1b\\]8;[^\x1b\x07]*\x1b\\\\")
_ADDRESS = re.compile(r"0x[0-9a-f]+|\d+|\"[^\"]*\"|'[^']*'")


def check_span(source: SourceFile, span: Span, what: str) -> None:
    """Expect a range of a text, whose line and column lead back to it."""
    require(0 <= span.start <= span.end <= len(source.text), f"{what} outside of the file", span)
    for offset in span:
        line, column = source.position(offset)
        require(
            source.line_starts[line - 1] + column - 1 == offset,
            f"{what} with another line and column",
            (offset, line, column),
        )


def check_diagnostics(source: SourceFile, found: Iterable[Diagnostic]) -> None:
    """Expect diagnostics that anybody can use, and none about derivlint itself."""
    for item in found:
        if item.rule == INTERNAL_ERROR:
            raise Violation(f"{INTERNAL_ERROR}: {normalized(item.message)}", item.message)
        require(bool(item.message.strip()), f"{item.rule} says nothing")
        check_span(source, item.span, f"span of {item.rule}")
        for related in item.related:
            if related.path in (None, source.path):
                check_span(source, related.span, f"related span of {item.rule}")
        if item.fix is not None:
            for edit in item.fix.edits:
                check_span(source, edit.span, f"edit of {item.rule}")


def normalized(message: str) -> str:
    """A message without what differs from input to input."""
    rule = re.match(r'rule "([\w-]+)"', message)
    text = _ADDRESS.sub("*", message.partition(": ")[2] or message)
    return f"{rule.group(1)}: {text}"[:160] if rule else text[:160]


def check_plain(text: str, what: str, *, colored: bool = False) -> None:
    """Expect a text that cannot steer a terminal.

    Args:
        text: the text.
        what: where it was printed.
        colored: whether it may have styles.
    """
    plain = unstyled(text) if colored else text
    match = _CONTROLS.search(plain)
    if match is not None:
        around = plain[max(0, match.start() - 60) : match.end() + 30]
        raise Violation(f"control characters in {what}", f"{match.group()!r} in {around!r}")


def unstyled(text: str) -> str:
    """A text without the styles and links that derivlint writes."""
    return _STYLES.sub("", text)
