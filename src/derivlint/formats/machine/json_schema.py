"""The JSON schema of the findings, as ``--output-format json`` writes them."""

from __future__ import annotations

import json
from typing import Any

from derivlint.formats.machine.json_format import VERSION
from derivlint.lint import Confidence, Severity

Schema = dict[str, Any]
_NULL: Schema = {"type": "null"}


def _text(description: str) -> Schema:
    return {"type": "string", "description": description}


def _number(description: str, minimum: int = 0) -> Schema:
    return {"type": "integer", "minimum": minimum, "description": description}


def _or_null(value: Schema) -> Schema:
    """The value, or null; what it says is where readers look for it."""
    inner = {name: item for name, item in value.items() if name != "description"}
    return {"anyOf": [inner, _NULL], "description": value["description"]}


def _list(items: str, description: str) -> Schema:
    return {"type": "array", "items": _ref(items), "description": description}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _place(description: str) -> Schema:
    return {**_ref("place"), "description": description}


def _object(properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """An object that has all of its keys; later versions of derivlint may add more."""
    return {
        "type": "object",
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }


def findings_schema() -> Schema:
    """The JSON schema of a document of findings; a line of ``json-lines`` is its ``finding``."""
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
                    "start": _place("Where it begins."),
                    "end": _place("Where it ends, exclusively."),
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
        "start": _place("Where it begins."),
        "end": _place("Where it ends, exclusively."),
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
    """The schema as it is shipped."""
    return json.dumps(findings_schema(), indent=1, ensure_ascii=False) + "\n"
