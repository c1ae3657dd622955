"""Diagnostics as reviewdog reads them: columns count bytes of UTF-8, ends are exclusive."""

from __future__ import annotations

from itertools import pairwise

from derivlint.formats.machine.json_format import Json, json_line, json_text
from derivlint.formats.places import byte_position, relative_path, shown_span
from derivlint.formats.report import Report
from derivlint.formats.styles import HOME, rule_url
from derivlint.lint import Diagnostic, Fix, Related, Severity, TextEdit
from derivlint.source import SourceFile, Span

SOURCE = {"name": "derivlint", "url": HOME}
SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render_rdjson(report: Report) -> str:
    """The report as one JSON document."""
    return json_text({"source": SOURCE, "diagnostics": [_diagnostic(item, report) for item in report.diagnostics]})


def render_rdjsonl(report: Report) -> str:
    """The report as a line of JSON for each finding; nothing if nothing was found."""
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
        "severity": SEVERITIES[item.severity],
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
    """All edits of a fix as one, with the text between them, or None.

    Consumers offer each replacement on its own, and half a fix is none.
    """
    edits = sorted(fix.edits, key=lambda edit: edit.span)
    if not edits:
        return None
    pieces = [edits[0].text]
    for before, after in pairwise(edits):
        pieces += (source.text[before.span.end : after.span.start], after.text)
    return TextEdit(edits[0].span.cover(edits[-1].span), "".join(pieces))
