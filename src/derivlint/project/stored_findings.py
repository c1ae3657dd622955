"""Findings as bytes, in a form that is checked when it is read: whatever the bytes are, reading gives findings or None.

The first line is a digest of the rest, so that a file that was cut off or changed is not taken for findings.
"""

from __future__ import annotations

import json
from typing import Any

from derivlint.lint import Confidence, Diagnostic, Fix, Related, Severity, TextEdit
from derivlint.project.cache import sha256
from derivlint.project.findings import Findings
from derivlint.source import Span


def encoded(findings: Findings, path: str) -> bytes:
    """Findings as bytes.

    Args:
        findings: the findings, all about one file.
        path: the path of that file, which is not kept.
    """
    value = {
        "diagnostics": [_diagnostic_json(item) for item in findings.diagnostics],
        "silenced": [index for index, item in enumerate(findings.diagnostics) if item in findings.silenced],
        "ran": sorted(findings.ran),
        "entries": findings.entries,
        "formulas": findings.formulas,
    }
    assert all(item.path == path for item in findings.diagnostics)
    body = json.dumps(value, separators=(",", ":")).encode()
    return sha256(body).hexdigest().encode() + b"\n" + body


def decoded(data: bytes, path: str) -> Findings | None:
    """Findings from bytes, None where the bytes are none.

    Args:
        data: the bytes.
        path: the path of the file that they are about.
    """
    digest, _, body = data.partition(b"\n")
    if sha256(body).hexdigest().encode() != digest:
        return None
    try:
        value = json.loads(body)
        diagnostics = tuple(_diagnostic(item, path) for item in value["diagnostics"])
        return Findings(
            diagnostics,
            frozenset(diagnostics[index] for index in value["silenced"]),
            frozenset(value["ran"]),
            crashes=0,
            entries=value["entries"],
            formulas=value["formulas"],
        )
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _diagnostic_json(item: Diagnostic) -> list[Any]:
    return [
        [*item.span],
        item.rule,
        item.message,
        item.severity.value,
        item.confidence.value,
        item.help,
        item.entry,
        item.dispatch,
        item.key,
        [[related.message, [*related.span], related.path] for related in item.related],
        _fix_json(item.fix),
    ]


def _fix_json(fix: Fix | None) -> list[Any] | None:
    if fix is None:
        return None
    return [fix.title, [[[*edit.span], edit.text] for edit in fix.edits], fix.safe]


def _diagnostic(value: list[Any], path: str) -> Diagnostic:
    span, rule, message, severity, confidence, help_text, entry, dispatch, key, related, fix = value
    return Diagnostic(
        path=path,
        span=Span(*span),
        rule=rule,
        message=message,
        severity=Severity(severity),
        confidence=Confidence(confidence),
        help=help_text,
        entry=entry,
        dispatch=dispatch,
        key=key,
        related=tuple(Related(text, Span(*place), of_path) for text, place, of_path in related),
        fix=_fix(fix) if fix is not None else None,
    )


def _fix(value: list[Any]) -> Fix:
    title, edits, safe = value
    return Fix(title, tuple(TextEdit(Span(*place), text) for place, text in edits), safe)
