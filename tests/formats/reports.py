"""A report with everything that formats get wrong, and what tests of formats share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from derivlint import __version__
from derivlint.formats import Report
from derivlint.lint import Confidence, Diagnostic, Fix, Related, Severity, TextEdit
from derivlint.source import SourceFile, Span

GOLDEN = Path(__file__).parent / "golden"

PATH = "a b/derivatives, ä.yaml"
TEXT = (
    "# a file\n"
    "- name: sin(Tensor self) -> Tensor\n"
    "  self: grad * é😀self.cos()\n"
    '  result: "auto_element_wise +\n'
    '    auto_linear"\n'
    "- name: cos(Tensor self) -> Tensor\n"
    "  self: grad + grad\n"
)
SOURCE = SourceFile(PATH, TEXT)
CLEAN = SourceFile("clean.yaml", "[]\n")
NATIVES = SourceFile("native_functions.yaml", "- func: sin(Tensor self) -> Tensor\n")
ODD_MESSAGE = '100% "odd", isn\'t it: <a> & <b>\nsecond line'


def span(text: str, start: int = 0) -> Span:
    """Where a piece of the text is."""
    begin = TEXT.index(text, start)
    return Span(begin, begin + len(text))


def diagnostic(where: Span, rule: str = "odd-rule", message: str = "a fact", **more: Any) -> Diagnostic:
    values: dict[str, Any] = {"severity": Severity.ERROR, "confidence": Confidence.HIGH, **more}
    return Diagnostic(PATH, where, rule, message, **values)


FOUND = (
    diagnostic(Span(0, 0), "whole-file", "about the whole file", severity=Severity.INFO),
    diagnostic(
        span("self.cos()"),
        "odd-rule",
        ODD_MESSAGE,
        help="take this, or: that",
        entry="sin",
        dispatch="Default",
        key="self",
        related=(
            Related("declared here", span("Tensor self")),
            Related("of this", Span(8, 11), path="native_functions.yaml"),
            Related("in a file that was not read", Span(3, 4), path="other file.h"),
        ),
        fix=Fix(
            "conjugate it",
            (TextEdit(span("self.cos()"), "self.cos().conj()"), TextEdit(span("é😀"), "")),
        ),
    ),
    diagnostic(
        span('"auto_element_wise +\n    auto_linear"'),
        "two-lines",
        "over two lines",
        severity=Severity.WARNING,
        entry="sin",
        dispatch="Default",
        key="result",
        fix=Fix("write one of them", (TextEdit(span(" +\n    auto_linear"), ""),), safe=False),
    ),
    diagnostic(
        Span(len(TEXT) - len("grad\n"), len(TEXT)),
        "end-of-file",
        "up to the end of the file",
        severity=Severity.WARNING,
        entry="cos",
        dispatch="Default",
        key="self",
        fix=Fix("add to it", (TextEdit(Span(len(TEXT) - 1, len(TEXT) - 1), " + é"),)),
    ),
)


def report(*found: Diagnostic, **more: Any) -> Report:
    """A report of the file; of the whole list where no findings are given."""
    sources = {PATH: SOURCE, CLEAN.path: CLEAN}
    others = {NATIVES.path: NATIVES}
    return Report(found or FOUND, sources, entries=2, formulas=3, related_sources=others, **more)


def empty(**more: Any) -> Report:
    """A report of a clean file."""
    return Report((), {CLEAN.path: CLEAN}, entries=0, formulas=0, **more)


def anywhere(text: str) -> str:
    """A text that says neither where the tests run nor the version."""
    text = text.replace(os.getcwd(), "/here")
    return text.replace(f'"semanticVersion": "{__version__}"', '"semanticVersion": "1.2.3"')


def compare(name: str, text: str) -> None:
    """Compare with a golden file, or write it."""
    path = GOLDEN / name
    if os.environ.get("DERIVLINT_UPDATE_GOLDEN"):
        path.write_bytes(text.encode())
    assert text.encode() == path.read_bytes()
