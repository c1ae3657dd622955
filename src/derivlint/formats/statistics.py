"""Counts of findings for each rule, as text: ``derivlint check --statistics``."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formats.links import rule_url
from derivlint.formats.report import Report
from derivlint.formats.styles import STYLES, Line, Piece
from derivlint.lint import Diagnostic, Severity


def statistics_lines(report: Report) -> Iterator[Line]:
    """A line for each rule with findings: how many, how bad, how many of them have a fix."""
    rows = [(count, name, *_facts(report, name)) for name, count in report.counts()]
    if not rows:
        return
    number = max(len(f"{count:,}") for count, *_ in rows)
    name_width = max(len(name) for _, name, *_ in rows)
    severities = max(len(severity.value) for *_, severity, _ in rows)
    for count, name, severity, fixes in rows:
        line = [
            Piece(f"{count:>{number},}  ", "bold"),
            Piece(name, link=rule_url(name)),
            Piece(" " * (name_width - len(name) + 2)),
            Piece(severity.value, STYLES[severity]),
        ]
        if fixes:
            line += [Piece(" " * (severities - len(severity.value))), Piece(f"  {fixes:,} with a fix", "dim")]
        yield line


def _facts(report: Report, name: str) -> tuple[Severity, int]:
    diagnostics: list[Diagnostic] = [item for item in report.diagnostics if item.rule == name]
    return max(item.severity for item in diagnostics), sum(item.fix is not None for item in diagnostics)
