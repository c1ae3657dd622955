"""Diagnostics as a JUnit report: a suite for each file, a failed test for each finding."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from derivlint.formats.report import Report
from derivlint.lint import INTERNAL_ERROR, Diagnostic
from derivlint.source import visible_xml

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
