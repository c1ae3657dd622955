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


def json_text(value: object, indent: int = 2) -> str:
    """Serialize a value as indented JSON with a line end."""
    return visible_json(strict(json.dumps(value, ensure_ascii=False, indent=indent))) + "\n"


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
                "version": {"const": VERSION, "description": "The version of this shape."},
                "diagnostics": _list("finding", "The findings, by path and place."),
                "summary": {**_ref("summary"), "description": "Counts."},
                "unchecked": _list("unchecked", "Of `verify`: what could not be checked."),
                "as_before": _list("finding", "Of `verify`: what the version that is compared with has as well."),
                "gone": _list("finding", "Of `verify`: what only the version that is compared with has."),
                "coverage": _list("coverage", "Of `verify --coverage`: what inputs reached of each formula."),
                "statistics": _list("count", "With `--statistics`: how many findings each rule has, the most first."),
            },
            optional=("unchecked", "as_before", "gone", "coverage", "statistics"),
        ),
        "definitions": {
            "finding": _object(_finding()),
            "place": _object(
                {
                    "line": _number("The line, from 1.", 1),
                    "column": _number("The column in code points, from 1.", 1),
                    "offset": _number("The place in the whole text in code points, from 0; a byte order mark counts."),
                }
            ),
            "related": _object(
                {
                    "message": _text("What is there."),
                    "path": _text("The file."),
                    "start": _place_schema("Where it begins."),
                    "end": _place_schema("Where it ends, exclusively."),
                }
            ),
            "fix": _object(
                {
                    "title": _text("What the fix does."),
                    "safe": {
                        "type": "boolean",
                        "description": "Whether `--fix` applies it; else `--unsafe-fixes` does.",
                    },
                    "edits": _list("edit", "The edits, which belong together."),
                }
            ),
            "edit": _object(
                {
                    "start": _number("Where the text begins that is replaced: an offset in code points."),
                    "end": _number("Where it ends, exclusively."),
                    "text": _text("What takes its place."),
                }
            ),
            "summary": _object(_summary(), optional=("unchecked", "as_before", "gone")),
            "unchecked": _object(
                {
                    "entry": _text("The operator of the entry."),
                    "key": _or_null(_text("The key of the formula; of the entry as a whole, null.")),
                    "why": _text("The kind of reason; the guide on verify lists them."),
                    "reason": _text("The reason in words."),
                }
            ),
            "coverage": _object(
                {
                    "entry": _text("The operator of the entry."),
                    "key": _text("The key of the formula."),
                    "items": _number("How many things could be reached: arms, sides of masks, states of arguments.", 1),
                    "missing": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Those that no input reached, in words.",
                    },
                }
            ),
            "count": _object({"rule": _text("The rule."), "count": _number("How many findings it has.", 1)}),
        },
    }


def _finding() -> dict[str, Schema]:
    def words(values: type[Severity] | type[Confidence], description: str) -> Schema:
        return {"enum": [item.value for item in reversed(list(values))], "description": description}

    return {
        "path": _text("The file, as the command line names it."),
        "rule": _text("The rule; `internal-error` and `compiler-error` are none."),
        "severity": words(Severity, "How bad it is."),
        "confidence": words(Confidence, "How sure it is."),
        "message": _text("What is wrong, in one line."),
        "help": _or_null(_text("What to do.")),
        "entry": _or_null(_text("The operator of the entry.")),
        "dispatch": _or_null(_text("The dispatch key.")),
        "key": _or_null(_text("The key of the formula, as the file has it.")),
        "start": _place_schema("Where it begins."),
        "end": _place_schema("Where it ends, exclusively."),
        "related": _list("related", "Other places that have to do with it."),
        "fix": _or_null({**_ref("fix"), "description": "What fixes it."}),
    }


def _summary() -> dict[str, Schema]:
    return {
        "files": _number("The files that were read."),
        "entries": _number("The entries in them."),
        "formulas": _number("The formulas in them."),
        "errors": _number("The errors among the findings."),
        "warnings": _number("The warnings."),
        "infos": _number("The pieces of advice."),
        "suppressed": _number("Findings that comments silence."),
        "hidden": _number("Findings below `min-severity` or `min-confidence`."),
        "baselined": _number("Findings that the baseline knows."),
        "unchanged": _number("Findings in entries that did not change since `--diff-base`."),
        "fixed": _number("Findings that were fixed."),
        "unknown_functions": _number("Functions that formulas call and no known header declares."),
        "as_before": _number("Of `verify`: findings that the version that is compared with has as well."),
        "gone": _number("Of `verify`: findings that only the version that is compared with has."),
        "unchecked": {
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": 1},
            "description": "Of `verify`: how many entries and formulas could not be checked, by the kind of reason.",
        },
    }


def schema_text() -> str:
    """Return the text of the bundled schema."""
    return json.dumps(findings_schema(), indent=1, ensure_ascii=False) + "\n"
