"""Diagnostics as workflow commands, from which GitHub makes annotations."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formats.places import relative_path, shown_range
from derivlint.formats.report import Report
from derivlint.lint import Diagnostic, Severity
from derivlint.lint.wording import counted
from derivlint.source import visible

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
#: How many annotations of a kind GitHub shows for one step.
MAX_ANNOTATIONS = 10


def render_github(report: Report) -> str:
    """The report as workflow commands, one a line; nothing where nothing was found.

    GitHub shows the first few of each kind: the worst come first, and a notice tells how many it leaves out.
    """
    return "".join(f"{line}\n" for line in _commands(report))


def _commands(report: Report) -> Iterator[str]:
    by_severity = {
        severity: [item for item in report.diagnostics if item.severity is severity] for severity in COMMANDS
    }
    notices = by_severity.pop(Severity.INFO)
    for diagnostics in by_severity.values():
        yield from (_command(item, report) for item in diagnostics)
    left_out = sum(max(0, len(diagnostics) - MAX_ANNOTATIONS) for diagnostics in (*by_severity.values(), notices))
    if left_out:
        # it takes the place of a notice itself
        left_out += len(notices) >= MAX_ANNOTATIONS
        text = f"{counted(left_out, 'more finding')} in the log of this step, which GitHub does not show here"
        yield f"::notice title=derivlint::{escape_message(text)}"
    yield from (_command(item, report) for item in notices)


def _command(item: Diagnostic, report: Report) -> str:
    start, end = shown_range(report.file_of(item), item.span)
    properties: dict[str, str | int] = {
        "file": relative_path(item.path, report.root),
        "line": start.line,
        "endLine": end.line,
    }
    if start.line == end.line:
        # columns of a range over several lines are refused, and the annotation with them
        properties |= {"col": start.column, "endColumn": max(start.column, end.column)}
    properties["title"] = f"derivlint ({item.rule})"
    listed = ",".join(f"{name}={escape_property(str(value))}" for name, value in properties.items())
    return f"::{COMMANDS[item.severity]} {listed}::{escape_message(item.message_and_help)}"


def escape_message(text: str) -> str:
    """A text as the message of a command: line ends keep their value, what is not visible otherwise is escaped."""
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def escape_property(text: str) -> str:
    """A text as a property of a command."""
    return escape_message(text).replace(":", "%3A").replace(",", "%2C")
