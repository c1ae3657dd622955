"""Diagnostics for continuous integration and review: GitHub, GitLab, JUnit, lintrunner and reviewdog.

lintrunner reads one JSON object per line; in rdjson, columns count UTF-8 bytes, and ends are exclusive.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from derivlint.formats.machine.json_format import Json, json_line, json_text
from derivlint.formats.places import byte_position, is_file_name, relative_path, shown_range, shown_span
from derivlint.formats.report import Report
from derivlint.formats.text import HOME, rule_url
from derivlint.lint import INTERNAL_ERROR, Diagnostic, Fix, Related, Severity, TextEdit
from derivlint.lint.fingerprint import fingerprints
from derivlint.lint.fixing import apply_fixes
from derivlint.lint.wording import counted
from derivlint.source import Position, SourceFile, Span, visible, visible_xml

# ---- GitHub: workflow commands, shown as annotations

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
#: The number of annotations per severity that GitHub shows for a step.
MAX_ANNOTATIONS = 10


def render_github(report: Report) -> str:
    """Render the report as workflow commands, one per line; empty without findings.

    GitHub shows only a few per severity: the most severe come first, and a notice counts the rest.
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
        # the notice counts as an annotation, too
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
        # GitHub rejects annotations with columns for a range over several lines
        properties |= {"col": start.column, "endColumn": max(start.column, end.column)}
    properties["title"] = f"derivlint ({item.rule})"
    listed = ",".join(f"{name}={escape_property(str(value))}" for name, value in properties.items())
    return f"::{COMMANDS[item.severity]} {listed}::{escape_message(item.message_and_help)}"


def escape_message(text: str) -> str:
    """Escape the message of a command; line ends are kept, invisible characters are escaped."""
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def escape_property(text: str) -> str:
    """Escape a property of a command."""
    return escape_message(text).replace(":", "%3A").replace(",", "%2C")


# ---- GitLab: a code quality report

CODE_QUALITY_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render_gitlab(report: Report) -> str:
    """Render the report as a JSON array, with fingerprints that do not depend on the lines above a finding."""
    names = fingerprints(report.diagnostics, report.files, shown=lambda path: relative_path(path, report.root))
    return json_text(
        [_code_quality_finding(item, name, report) for item, name in zip(report.diagnostics, names, strict=True)],
    )


def _code_quality_finding(item: Diagnostic, fingerprint: str, report: Report) -> Json:
    start, end = shown_range(report.file_of(item), item.span)
    return {
        # GitLab shows the description only, without rule and entry
        "description": f"{item.rule}: {item.full_message}",
        "check_name": item.rule,
        "fingerprint": fingerprint,
        "severity": CODE_QUALITY_SEVERITIES[item.severity],
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
#: The name of the passed test for a file without findings: readers reject reports without tests.
CLEAN = "No errors found"


def render_junit(report: Report) -> str:
    """Render the report as XML; internal errors of derivlint are test errors, not failures."""
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


#: The name of the linter in ``.lintrunner.toml``.
CODE = "DERIVATIVES"
LINTRUNNER_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "advice"}


def render_lintrunner(report: Report) -> str:
    """Render the report as messages: problems, failing findings, and at most one fixed text per file.

    Any message makes lintrunner fail, so findings below the fail level are omitted. lintrunner rejects a second
    replacement of a file, so all safe fixes of a file are one message.
    """
    return "".join(f"{json_line(message)}\n" for message in _messages(report))


def _messages(report: Report) -> Iterator[Json]:
    yield from (problem_message(text) for text in report.problems)
    counted_ones = [item for item in report.diagnostics if report.fails(item)]
    for item in counted_ones:
        yield _lintrunner_finding(item, report)
    for source in report.sources.values():
        message = _fixed(source, [item for item in counted_ones if item.path == source.path])
        if message is not None:
            yield message


def problem_message(text: str) -> Json:
    """Return the message for a problem, such as a wrong configuration or an unreadable file."""
    return _message("error", "command-failed", text)


def _message(
    severity: str,
    name: str,
    description: str,
    path: str | None = None,
    position: Position | None = None,
    original: str | None = None,
    replacement: str | None = None,
) -> Json:
    return {
        "path": path,
        "line": None if position is None else position.line,
        "char": None if position is None else position.column,
        "code": CODE,
        "severity": severity,
        "name": name,
        "original": original,
        "replacement": replacement,
        "description": description,
    }


def _lintrunner_finding(item: Diagnostic, report: Report) -> Json:
    position = report.file_of(item).position(item.span.start)
    text = f"{item.message_and_help}\nsee {rule_url(item.rule)}"
    return _message(LINTRUNNER_SEVERITIES[item.severity], item.rule, text, _absolute(item.path), position)


def _fixed(source: SourceFile, items: list[Diagnostic]) -> Json | None:
    # replacement characters from decoding would overwrite the file's own bytes
    if source.undecodable is not None or not is_file_name(source.path):
        return None
    outcome = apply_fixes(source, items)
    if outcome.text == source.text:
        return None
    # lintrunner prints the position even if it is null
    first = source.position(min(item.span.start for item in outcome.applied))
    text = f'{counted(len(outcome.applied), "fix", "fixes")} of derivlint; "lintrunner -a" applies them'
    return _message("warning", "fix", text, _absolute(source.path), first, source.text, outcome.text)


def _absolute(path: str) -> str | None:
    return os.path.abspath(path) if is_file_name(path) else None


SOURCE = {"name": "derivlint", "url": HOME}
RDJSON_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render_rdjson(report: Report) -> str:
    """Render the report as one JSON document."""
    return json_text({"source": SOURCE, "diagnostics": [_diagnostic(item, report) for item in report.diagnostics]})


def render_rdjsonl(report: Report) -> str:
    """Render a line of JSON per finding."""
    return "".join(f"{json_line({**_diagnostic(item, report), 'source': SOURCE})}\n" for item in report.diagnostics)


def _diagnostic(item: Diagnostic, report: Report) -> Json:
    source = report.file_of(item)
    place = _range(source, shown_span(source, item.span))
    result: Json = {
        "message": item.message_and_help,
        "location": {
            "path": relative_path(item.path, report.root),
            "range": place,
        },
        "severity": RDJSON_SEVERITIES[item.severity],
        "code": {"value": item.rule, "url": rule_url(item.rule)},
    }
    edit = merged_edit(source, item.fix) if item.fix is not None else None
    if edit is not None:
        result["suggestions"] = [{"range": _range(source, edit.span), "text": edit.text}]
    if item.related:
        result["related_locations"] = [_related(related, item.path, report) for related in item.related]
    return result


def _related(related: Related, path: str, report: Report) -> Json:
    shown = related.path if related.path is not None else path
    source = report.source(shown)
    location: Json = {"path": relative_path(shown, report.root)}
    if source is not None:
        location["range"] = _range(source, shown_span(source, related.span))
    return {"message": related.message, "location": location}


def _range(source: SourceFile, span: Span) -> Json:
    return {"start": _position(source, span.start), "end": _position(source, span.end)}


def _position(source: SourceFile, offset: int) -> Json:
    line, column = byte_position(source, offset)
    return {"line": line, "column": column}


def merged_edit(source: SourceFile, fix: Fix) -> TextEdit | None:
    """Merge the edits of a fix into one, with the text between them, or return None.

    Consumers offer each replacement separately, but a partial fix is wrong.
    """
    edits = sorted(fix.edits, key=lambda edit: edit.span)
    if not edits:
        return None
    pieces = [edits[0].text]
    for before, after in pairwise(edits):
        pieces += (source.text[before.span.end : after.span.start], after.text)
    return TextEdit(edits[0].span.cover(edits[-1].span), "".join(pieces))
