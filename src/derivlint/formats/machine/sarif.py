"""Diagnostics as SARIF 2.1.0, with the properties that GitHub's code scanning requires."""

from __future__ import annotations

from derivlint.formats.machine.json_format import Json, json_text
from derivlint.formats.places import relative_path, shown_range, uri
from derivlint.formats.report import Report
from derivlint.formats.rule_page import RuleMetadata, rule_metadata
from derivlint.formats.text import HOME
from derivlint.lint import Confidence, Diagnostic, Fix, Related, Severity
from derivlint.lint.fingerprint import fingerprints
from derivlint.source import Position, SourceFile, Span
from derivlint.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
#: Severities of code scanning, which has no notes.
PROBLEM_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
PRECISIONS = {Confidence.HIGH: "high", Confidence.MEDIUM: "medium", Confidence.LOW: "low"}
#: The name of our fingerprint, which must differ from that of code scanning's own.
FINGERPRINT = "derivlint/v1"


def render_sarif(report: Report) -> str:
    """Render the report as a SARIF document with one run."""
    rules = [rule_metadata(name) for name in sorted({item.rule for item in report.diagnostics})]
    index = {rule.name: number for number, rule in enumerate(rules)}
    names = fingerprints(report.diagnostics, report.files, shown=lambda path: relative_path(path, report.root))
    results = [
        {**_result(item, report), "ruleIndex": index[item.rule], "partialFingerprints": {FINGERPRINT: name}}
        for item, name in zip(report.diagnostics, names, strict=True)
    ]
    # with "false", code scanning would ignore the results of the files that could be read
    invocation: Json = {"executionSuccessful": True}
    if report.problems:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": text}} for text in report.problems
        ]
    run = {
        "columnKind": "unicodeCodePoints",
        "tool": {
            "driver": {
                "name": "derivlint",
                "semanticVersion": __version__,
                "informationUri": HOME,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "invocations": [invocation],
        "results": results,
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: RuleMetadata) -> Json:
    properties: Json = {"precision": PRECISIONS[rule.confidence], "tags": ["autograd", "correctness"]}
    described: Json = {
        "id": rule.name,
        # validators reject a name that equals the id (SARIF1001)
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.description},
        "help": {"text": rule.page, "markdown": rule.page},
        "helpUri": rule.url,
    }
    if rule.severity is not None:
        described["defaultConfiguration"] = {"level": LEVELS[rule.severity]}
        properties["problem.severity"] = PROBLEM_SEVERITIES[rule.severity]
    return {**described, "properties": properties}


def _result(item: Diagnostic, report: Report) -> Json:
    source = report.file_of(item)
    result: Json = {
        "ruleId": item.rule,
        "level": LEVELS[item.severity],
        "message": {"text": item.message_and_help},
        "locations": [{"physicalLocation": _place(item.path, source, item.span, report), **_logical(item)}],
    }
    if item.related:
        result["relatedLocations"] = [
            _related(number, related, item.path, report) for number, related in enumerate(item.related, 1)
        ]
    if item.fix is not None and item.fix.edits:
        result["fixes"] = [_fix(item.fix, item.path, source, report)]
    return result


def _logical(item: Diagnostic) -> Json:
    if item.entry is None:
        return {}
    place: Json = {"name": item.key or item.entry, "fullyQualifiedName": item.subject, "kind": "member"}
    return {"logicalLocations": [place]}


def _related(number: int, related: Related, path: str, report: Report) -> Json:
    shown = related.path if related.path is not None else path
    place = _place(shown, report.source(shown), related.span, report)
    return {"id": number, "physicalLocation": place, "message": {"text": related.message}}


def _place(path: str, source: SourceFile | None, span: Span, report: Report) -> Json:
    place: Json = {"artifactLocation": {"uri": uri(path, report.root)}}
    if source is not None:
        place["region"] = _region(*shown_range(source, span))
    return place


def _region(start: Position, end: Position) -> Json:
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _fix(fix: Fix, path: str, source: SourceFile, report: Report) -> Json:
    replacements = [
        {
            "deletedRegion": _region(source.position(edit.span.start), source.position(edit.span.end)),
            "insertedContent": {"text": edit.text},
        }
        for edit in sorted(fix.edits, key=lambda edit: edit.span)
    ]
    changes = [{"artifactLocation": {"uri": uri(path, report.root)}, "replacements": replacements}]
    return {
        "description": {"text": fix.title if fix.safe else f"{fix.title} (may change the meaning)"},
        "artifactChanges": changes,
        "properties": {"safe": fix.safe},
    }
