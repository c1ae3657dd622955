"""Diagnostics as a code quality report of GitLab."""

from __future__ import annotations

from derivlint.formats.machine.json_text import Json, json_text
from derivlint.formats.places import relative_path, shown_range
from derivlint.formats.report import Report
from derivlint.lint import Diagnostic, Severity
from derivlint.lint.fingerprint import fingerprints

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render_gitlab(report: Report) -> str:
    """The report as a JSON array; findings have fingerprints that lines above them do not change."""
    names = fingerprints(report.diagnostics, report.files, shown=lambda path: relative_path(path, report.root))
    return json_text(
        [_finding(item, name, report) for item, name in zip(report.diagnostics, names, strict=True)],
    )


def _finding(item: Diagnostic, fingerprint: str, report: Report) -> Json:
    start, end = shown_range(report.file_of(item), item.span)
    return {
        # neither the rule nor anything of the entry is shown beside the description
        "description": f"{item.rule}: {item.full_message}",
        "check_name": item.rule,
        "fingerprint": fingerprint,
        "severity": SEVERITIES[item.severity],
        "location": {
            "path": relative_path(item.path, report.root),
            "lines": {"begin": start.line, "end": end.line},
            "positions": {
                "begin": {"line": start.line, "column": start.column},
                "end": {"line": end.line, "column": end.column},
            },
        },
    }
