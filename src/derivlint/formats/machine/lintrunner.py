"""Diagnostics as messages of lintrunner, the linter of the PyTorch repository: one JSON object a line."""

from __future__ import annotations

import os
from collections.abc import Iterator

from derivlint.formats.machine.json_format import Json, json_line
from derivlint.formats.places import is_file_name
from derivlint.formats.report import Report
from derivlint.formats.styles import rule_url
from derivlint.lint import Diagnostic, Severity
from derivlint.lint.fixing import apply_fixes
from derivlint.lint.wording import counted
from derivlint.source import SourceFile

#: What ``.lintrunner.toml`` calls the linter.
CODE = "DERIVATIVES"
SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "advice"}


def render_lintrunner(report: Report) -> str:
    """The report as messages: problems, findings that count, and for each file at most one with its fixed text.

    Any message makes lintrunner fail, so findings below the fail level are left out. It refuses a second replacement
    of a file, so all safe fixes of a file are one message.
    """
    return "".join(f"{json_line(message)}\n" for message in _messages(report))


def _messages(report: Report) -> Iterator[Json]:
    yield from (problem_message(text) for text in report.problems)
    counted_ones = [item for item in report.diagnostics if report.fails(item)]
    for item in counted_ones:
        yield _finding(item, report)
    for source in report.sources.values():
        message = _fixed(source, [item for item in counted_ones if item.path == source.path])
        if message is not None:
            yield message


def problem_message(text: str) -> Json:
    """The message for what belongs to no file: wrong configuration, a file that cannot be read."""
    return {
        "path": None,
        "line": None,
        "char": None,
        "code": CODE,
        "severity": "error",
        "name": "command-failed",
        "original": None,
        "replacement": None,
        "description": text,
    }


def _finding(item: Diagnostic, report: Report) -> Json:
    line, column = report.file_of(item).position(item.span.start)
    return {
        "path": _absolute(item.path),
        "line": line,
        "char": column,
        "code": CODE,
        "severity": SEVERITIES[item.severity],
        "name": item.rule,
        "original": None,
        "replacement": None,
        "description": f"{item.message_and_help}\nsee {rule_url(item.rule)}",
    }


def _fixed(source: SourceFile, items: list[Diagnostic]) -> Json | None:
    # what was replaced while decoding would be written over the file's own bytes
    if source.undecodable is not None or not is_file_name(source.path):
        return None
    outcome = apply_fixes(source, items)
    if outcome.text == source.text:
        return None
    first = source.position(min(item.span.start for item in outcome.applied))
    return {
        "path": _absolute(source.path),
        # readers of the messages print the place also where it is null
        "line": first.line,
        "char": first.column,
        "code": CODE,
        "severity": "warning",
        "name": "fix",
        "original": source.text,
        "replacement": outcome.text,
        "description": f'{counted(len(outcome.applied), "fix", "fixes")} of derivlint; "lintrunner -a" applies them',
    }


def _absolute(path: str) -> str | None:
    return os.path.abspath(path) if is_file_name(path) else None
