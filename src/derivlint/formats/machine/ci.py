"""Diagnostics for continuous integration: annotations of GitHub, code quality of GitLab, JUnit reports."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from derivlint.formats.machine.json_format import Json, json_text
from derivlint.formats.places import relative_path, shown_range
from derivlint.formats.report import Report
from derivlint.lint import INTERNAL_ERROR, Diagnostic, Severity
from derivlint.lint.fingerprint import fingerprints
from derivlint.lint.wording import counted
from derivlint.source import visible, visible_xml

# ---- GitHub: workflow commands, shown as annotations

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
#: How many annotations of a kind GitHub shows for one step.
MAX_ANNOTATIONS = 10


def render_github(report: Report) -> str:
    """The report as workflow commands, one a line; nothing if nothing was found.

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


# ---- GitLab: a code quality report

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


# ---- JUnit: a suite for each file, a failed test for each finding

NAME = "derivlint"
#: What the test of a file without findings is called: readers refuse a report without tests.
CLEAN = "No errors found"


def render_junit(report: Report) -> str:
    """The report as XML; findings that are errors of derivlint itself are errors of tests, not failures."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "".join(f"{line}\n" for line in _suites(report))


def _suites(report: Report) -> Iterator[str]:
    by_path: dict[str, list[Diagnostic]] = {path: [] for path in report.sources}
    for item in report.diagnostics:
        by_path.setdefault(item.path, []).append(item)
    suites = by_path or {NAME: []}
    yield f"<testsuites name={_attribute(NAME)} {_counts(list(suites.values()))}>"
    for path, items in suites.items():
        yield f"  <testsuite name={_attribute(path)} {_counts([items])} package={_attribute('org.' + NAME)}>"
        for item in items:
            yield from _case(item, report)
        if not items:
            yield f"    <testcase name={_attribute(CLEAN)} classname={_attribute(path)}/>"
        yield "  </testsuite>"
    yield "</testsuites>"


def _counts(suites: list[list[Diagnostic]]) -> str:
    items = [item for suite in suites for item in suite]
    errors = sum(item.rule == INTERNAL_ERROR for item in items)
    tests = sum(len(suite) or 1 for suite in suites)
    return f'tests="{tests}" failures="{len(items) - errors}" errors="{errors}"'


def _case(item: Diagnostic, report: Report) -> Iterator[str]:
    line, column = report.file_of(item).position(item.span.start)
    name = f"org.{NAME}.{item.rule}"
    yield (f'    <testcase name={_attribute(name)} classname={_attribute(item.path)} line="{line}" column="{column}">')
    tag = "error" if item.rule == INTERNAL_ERROR else "failure"
    lines = [f"line {line}, col {column}, {item.full_message}"]
    if item.help is not None:
        lines.append(f"help: {item.help}")
    text = "\n".join(map(_content, lines))
    message, kind = _attribute(item.full_message), _attribute(item.severity.value)
    yield f"      <{tag} message={message} type={kind}>{text}</{tag}>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return visible_xml(quoteattr(text))


def _content(text: str) -> str:
    return visible_xml(escape(text))
