"""Diagnostics as JSON, in a stable form with a JSON schema."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from derivlint.formats.report import Report
from derivlint.lint import Confidence, Diagnostic, Fix, Related, Severity
from derivlint.source import SourceFile, visible_json

VERSION = 1
Json = dict[str, Any]


def render_json(report: Report) -> str:
    """Render the report as one JSON document with a line end."""
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
    return document_text(document, indent=2)


def document_text(document: Json, indent: int = 1) -> str:
    """Serialize a JSON document with a line end; invisible characters are escaped."""
    return visible_json(json.dumps(document, indent=indent, ensure_ascii=False)) + "\n"


def render_json_lines(report: Report) -> str:
    """Render the findings of the document, one per line; empty without findings."""
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
    # readers require positions, so an unread file has the first one
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
    """Serialize a value as JSON on one line, without a line end."""
    return visible_json(strict(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


def json_text(value: object) -> str:
    """Serialize a value as indented JSON with a line end."""
    return visible_json(strict(json.dumps(value, ensure_ascii=False, indent=2))) + "\n"


def strict(text: str) -> str:
    """Replace lone surrogates, which come from file names that are not UTF-8 and from escapes in YAML."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


Schema = dict[str, Any]
_NULL: Schema = {"type": "null"}


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _number(description: str, minimum: int = 0) -> Schema:
    return {"type": "integer", "minimum": minimum, "description": description}


def _or_null(value: Schema) -> Schema:
    """Return the schema of a value or null, with the description at the top level."""
    inner = {name: item for name, item in value.items() if name != "description"}
    return {"anyOf": [inner, _NULL], "description": value["description"]}


def _list(items: str, description: str) -> Schema:
    return {"type": "array", "items": _ref(items), "description": description}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _place_schema(description: str) -> Schema:
    return {**_ref("place"), "description": description}


def _object(properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with all keys required; later versions of derivlint may add more."""
    return {
        "type": "object",
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }


def findings_schema() -> Schema:
    """Return the JSON schema of a document of findings; a line of ``json-lines`` is a ``finding`` in it."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "derivlint check --output-format json",
        **_object(
            {
                "version": {"const": VERSION, "description": "The version of this format."},
                "diagnostics": _list("finding", "The findings, by path and place."),
                "summary": {**_ref("summary"), "description": "Counts."},
                "unchecked": _list("unchecked", "With `verify`: the unchecked entries and formulas."),
                "as_before": _list("finding", "With `verify`: the findings that the base has as well."),
                "gone": _list("finding", "With `verify`: the findings of the base only."),
                "coverage": _list("coverage", "With `verify --coverage`: the coverage of each formula by inputs."),
                "statistics": _list(
                    "count", "With `--statistics`: the number of findings per rule, in descending order."
                ),
            },
            optional=("unchecked", "as_before", "gone", "coverage", "statistics"),
        ),
        "definitions": {
            "finding": _object(_finding()),
            "place": _object(
                {
                    "line": _number("The line, from 1.", 1),
                    "column": _number("The column in code points, from 1.", 1),
                    "offset": _number("The offset in the text in code points, from 0; a byte order mark counts."),
                }
            ),
            "related": _object(
                {
                    "message": _text("A description."),
                    "path": _text("The file."),
                    "start": _place_schema("The start."),
                    "end": _place_schema("The end, exclusive."),
                }
            ),
            "fix": _object(
                {
                    "title": _text("A description of the fix."),
                    "safe": {
                        "type": "boolean",
                        "description": "Whether `--fix` applies it; otherwise `--unsafe-fixes` does.",
                    },
                    "edits": _list("edit", "The edits, to be applied together."),
                }
            ),
            "edit": _object(
                {
                    "start": _number("The start of the replaced text, an offset in code points."),
                    "end": _number("The end of the replaced text, exclusive."),
                    "text": _text("The new text."),
                }
            ),
            "summary": _object(_summary(), optional=("unchecked", "as_before", "gone")),
            "unchecked": _object(
                {
                    "entry": _text("The operator of the entry."),
                    "key": _or_null(_text("The key of the formula, or null for the whole entry.")),
                    "why": _text("The kind of reason; see the guide on verify."),
                    "reason": _text("The reason."),
                }
            ),
            "coverage": _object(
                {
                    "entry": _text("The operator of the entry."),
                    "key": _text("The key of the formula."),
                    "items": _number("The number of items to reach: branches, sides of masks, states of arguments.", 1),
                    "missing": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Descriptions of the items that no input reached.",
                    },
                }
            ),
            "count": _object({"rule": _text("The rule."), "count": _number("The number of its findings.", 1)}),
        },
    }


def _finding() -> dict[str, Schema]:
    def words(values: type[Severity] | type[Confidence], description: str) -> Schema:
        return {"enum": [item.value for item in reversed(list(values))], "description": description}

    return {
        "path": _text("The file, as named on the command line."),
        "rule": _text("The rule, or `internal-error` or `compiler-error`."),
        "severity": words(Severity, "The severity."),
        "confidence": words(Confidence, "The confidence."),
        "message": _text("The message, in one line."),
        "help": _or_null(_text("The remedy.")),
        "entry": _or_null(_text("The operator of the entry.")),
        "dispatch": _or_null(_text("The dispatch key.")),
        "key": _or_null(_text("The key of the formula, as written.")),
        "start": _place_schema("The start."),
        "end": _place_schema("The end, exclusive."),
        "related": _list("related", "Related locations."),
        "fix": _or_null({**_ref("fix"), "description": "The fix."}),
    }


def _summary() -> dict[str, Schema]:
    return {
        "files": _number("The files that were read."),
        "entries": _number("The entries in them."),
        "formulas": _number("The formulas in them."),
        "errors": _number("The errors among the findings."),
        "warnings": _number("The warnings."),
        "infos": _number("The infos."),
        "suppressed": _number("Suppressed findings."),
        "hidden": _number("Findings below `min-severity` or `min-confidence`."),
        "baselined": _number("Findings in the baseline."),
        "unchanged": _number("Findings in entries unchanged since `--diff-base`."),
        "fixed": _number("Fixed findings."),
        "unknown_functions": _number("Called functions that no known header declares."),
        "as_before": _number("With `verify`: the number of findings that the base has as well."),
        "gone": _number("With `verify`: the number of findings of the base only."),
        "unchecked": {
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": 1},
            "description": "With `verify`: the number of unchecked entries and formulas, by kind of reason.",
        },
    }


def schema_text() -> str:
    """Return the text of the bundled schema."""
    return json.dumps(findings_schema(), indent=1, ensure_ascii=False) + "\n"
