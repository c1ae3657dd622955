"""Diagnostics as JSON, in the shape that scripts rely on, and JSON text that strict readers take."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from derivlint.formats.report import Report
from derivlint.lint import Diagnostic, Fix, Related, Severity
from derivlint.source import SourceFile, visible_json

VERSION = 1
Json = dict[str, Any]


def render_json(report: Report) -> str:
    """The report as one JSON document with a line end."""
    document: Json = {
        "version": VERSION,
        "diagnostics": [_diagnostic(item, report) for item in report.diagnostics],
        "summary": {
            "files": len(report.sources),
            "entries": report.entries,
            "formulas": report.formulas,
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "infos": report.count(Severity.INFO),
            "suppressed": report.suppressed,
            "hidden": report.hidden,
            "baselined": report.baselined,
            "unchanged": report.unchanged,
            "fixed": report.fixed,
            "unknown_functions": len(report.unknown_functions),
        },
    }
    if report.unchecked is not None:
        counts = Counter(item.why for item in report.unchecked)
        document["summary"]["unchecked"] = dict(sorted(counts.items()))
        document["unchecked"] = [
            {"entry": item.entry, "key": item.key or None, "why": item.why, "reason": item.reason}
            for item in report.unchecked
        ]
    if report.as_before is not None:
        for name, items in (("as_before", report.as_before), ("gone", report.gone)):
            document["summary"][name] = len(items)
            document[name] = [_diagnostic(item, report) for item in items]
    if report.coverage is not None:
        document["coverage"] = [
            {"entry": item.entry, "key": item.key, "items": item.items, "missing": list(item.missing)}
            for item in report.coverage
        ]
    if report.statistics:
        document["statistics"] = [{"rule": name, "count": count} for name, count in report.counts()]
    return visible_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def render_json_lines(report: Report) -> str:
    """The findings of the document, one a line; nothing if nothing was found."""
    return "".join(
        visible_json(json.dumps(_diagnostic(item, report), ensure_ascii=False, separators=(",", ":"))) + "\n"
        for item in report.diagnostics
    )


def _place(source: SourceFile, offset: int) -> Json:
    line, column = source.position(offset)
    return {"line": line, "column": column, "offset": offset}


def _diagnostic(item: Diagnostic, report: Report) -> Json:
    source = report.file_of(item)
    return {
        "path": item.path,
        "rule": item.rule,
        "severity": item.severity.value,
        "confidence": item.confidence.value,
        "message": item.message,
        "help": item.help,
        "entry": item.entry,
        "dispatch": item.dispatch,
        "key": item.key,
        "start": _place(source, item.span.start),
        "end": _place(source, item.span.end),
        "related": [_related(related, item.path, report) for related in item.related],
        "fix": _fix(item.fix),
    }


def _related(related: Related, path: str, report: Report) -> Json:
    shown = related.path if related.path is not None else path
    source = report.source(shown)
    # readers rely on the places, so a file that was not read has the one place that every file has
    start, end = related.span if source is not None else (0, 0)
    source = source or SourceFile(shown, "")
    return {
        "message": related.message,
        "path": shown,
        "start": _place(source, start),
        "end": _place(source, end),
    }


def _fix(fix: Fix | None) -> Json | None:
    if fix is None:
        return None
    return {
        "title": fix.title,
        "safe": fix.safe,
        "edits": [{"start": edit.span.start, "end": edit.span.end, "text": edit.text} for edit in fix.edits],
    }


def json_line(value: object) -> str:
    """A value as JSON on one line, without a line end."""
    return visible_json(strict(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


def json_text(value: object, indent: int = 2) -> str:
    """A value as indented JSON with a line end."""
    return visible_json(strict(json.dumps(value, ensure_ascii=False, indent=indent))) + "\n"


def strict(text: str) -> str:
    """A text without lone surrogates, which come from names that are not UTF-8 and from escapes in YAML."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
