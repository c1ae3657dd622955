"""Findings as bytes, in a form that is checked when it is read: any bytes give findings or None.

Files of the cache begin with a digest, so that what was cut off is not taken for findings. What someone wrote under
the right digest has to have the right types as well, and places that lie in the files that they speak of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from derivlint.lint import Confidence, Diagnostic, Fix, Related, Severity, TextEdit
from derivlint.lint.engine.result import Unjudged
from derivlint.project.caching.cache import Row, Shape, fits, sealed, unsealed
from derivlint.project.filtering.findings import Findings
from derivlint.source import Span

_SPAN = Row(int, int)
_TEXT: Shape = (str, None)
_FIX = Row(str, [Row(_SPAN, str)], bool)
_RELATED = Row(str, _SPAN, _TEXT)
#: A diagnostic, in the order of its fields.
_DIAGNOSTIC = Row(_SPAN, str, str, str, str, _TEXT, _TEXT, _TEXT, _TEXT, [_RELATED], (_FIX, None))
_FINDINGS: Shape = {
    "diagnostics": [_DIAGNOSTIC],
    "silenced": [int],
    "ran": [str],
    "entries": int,
    "formulas": int,
    "unjudged": ([Row([str], [str])], None),
}


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
        "unjudged": findings.unjudged,
    }
    assert all(item.path == path for item in findings.diagnostics)
    return sealed(json.dumps(value, separators=(",", ":")).encode())


def decoded(data: bytes, path: str, lengths: Mapping[str | None, int]) -> Findings | None:
    """Findings from bytes, None where the bytes are none.

    Args:
        data: the bytes.
        path: the path of the file that they are about.
        lengths: how many code points there are in the files that places may be in, by path; None is the file itself.
    """
    body = unsealed(data)
    if body is None:
        return None
    try:
        value = json.loads(body)
        if not fits(value, _FINDINGS) or not _is_possible(value, lengths):
            return None
        diagnostics = tuple(_diagnostic(item, path) for item in value["diagnostics"])
        return Findings(
            diagnostics,
            frozenset(diagnostics[index] for index in value["silenced"]),
            frozenset(value["ran"]),
            crashes=0,
            entries=value["entries"],
            formulas=value["formulas"],
            unjudged=_unjudged(value["unjudged"]),
        )
    except (ValueError, LookupError, RecursionError):
        return None


def _is_possible(value: Mapping[str, Any], lengths: Mapping[str | None, int]) -> bool:
    """Whether numbers are such as a check of the file can give."""
    most = lengths[None]
    count = len(value["diagnostics"])
    return (
        0 <= value["entries"] <= most
        and 0 <= value["formulas"] <= most
        and all(0 <= index < count for index in value["silenced"])
        and all(
            of_path in lengths and 0 <= start <= end <= lengths[of_path]
            for item in value["diagnostics"]
            for of_path, (start, end) in _places(item)
        )
    )


def _places(item: list[Any]) -> Iterator[tuple[str | None, list[int]]]:
    """The places that a diagnostic speaks of, with the paths of their files."""
    yield None, item[0]
    for _, place, of_path in item[9]:
        yield of_path, place
    if item[10] is not None:
        for place, _ in item[10][1]:
            yield None, place


def _unjudged(value: list[list[list[str]]] | None) -> Unjudged | None:
    if value is None:
        return None
    return tuple((tuple(operators), tuple(rules)) for operators, rules in value)


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
