"""JSON output: the whole document, as scripts rely on it."""

from __future__ import annotations

import json

from derivlint.formats import Report
from derivlint.formats.machine.json_format import render_json
from derivlint.lint import Confidence, Diagnostic, Fix, Related, Severity, TextEdit
from derivlint.source import SourceFile, Span

TEXT = "# é😀\n- name: sin(Tensor self) -> Tensor\n  self: grad\n"
SOURCE = SourceFile("ä/d.yaml", TEXT)


def test_the_document_has_the_promised_fields_in_the_promised_order() -> None:
    start = TEXT.index("grad")
    found = Diagnostic(
        path="ä/d.yaml",
        span=Span(start, start + 4),
        rule="some-rule",
        message='"grad" is wrong',
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        help="take another",
        entry="sin",
        dispatch="Default",
        key="self",
        related=(Related("declared here", Span(5, 6)), Related("of this", Span(0, 3), path="native_functions.yaml")),
        fix=Fix("Replace it", (TextEdit(Span(start, start + 4), "é"),), safe=False),
    )
    natives = SourceFile("native_functions.yaml", "abc")
    report = Report((found,), {SOURCE.path: SOURCE}, 1, 2, hidden=3, related_sources={natives.path: natives})
    assert (
        render_json(report)
        == """\
{
  "version": 1,
  "diagnostics": [
    {
      "path": "ä/d.yaml",
      "rule": "some-rule",
      "severity": "error",
      "confidence": "high",
      "message": "\\"grad\\" is wrong",
      "help": "take another",
      "entry": "sin",
      "dispatch": "Default",
      "key": "self",
      "start": {
        "line": 3,
        "column": 9,
        "offset": 48
      },
      "end": {
        "line": 3,
        "column": 13,
        "offset": 52
      },
      "related": [
        {
          "message": "declared here",
          "path": "ä/d.yaml",
          "start": {
            "line": 2,
            "column": 1,
            "offset": 5
          },
          "end": {
            "line": 2,
            "column": 2,
            "offset": 6
          }
        },
        {
          "message": "of this",
          "path": "native_functions.yaml",
          "start": {
            "line": 1,
            "column": 1,
            "offset": 0
          },
          "end": {
            "line": 1,
            "column": 4,
            "offset": 3
          }
        }
      ],
      "fix": {
        "title": "Replace it",
        "safe": false,
        "edits": [
          {
            "start": 48,
            "end": 52,
            "text": "é"
          }
        ]
      }
    }
  ],
  "summary": {
    "files": 1,
    "entries": 1,
    "formulas": 2,
    "errors": 1,
    "warnings": 0,
    "infos": 0,
    "suppressed": 0,
    "hidden": 3,
    "baselined": 0,
    "unchanged": 0,
    "fixed": 0,
    "unknown_functions": 0
  }
}
"""
    )


def test_what_a_finding_lacks_is_null_or_empty() -> None:
    found = Diagnostic("ä/d.yaml", Span(0, 0), "some-rule", "m", Severity.INFO, Confidence.LOW)
    (item,) = json.loads(render_json(Report((found,), {SOURCE.path: SOURCE}, 1, 2)))["diagnostics"]
    assert {name: item[name] for name in ("help", "entry", "dispatch", "key", "related", "fix")} == {
        "help": None,
        "entry": None,
        "dispatch": None,
        "key": None,
        "related": [],
        "fix": None,
    }


def test_a_place_in_a_file_that_was_not_read_still_has_the_shape() -> None:
    found = Diagnostic(
        "ä/d.yaml", Span(0, 0), "r", "m", Severity.INFO, Confidence.LOW, related=(Related("x", Span(5, 9), path="n"),)
    )
    (item,) = json.loads(render_json(Report((found,), {SOURCE.path: SOURCE}, 1, 2)))["diagnostics"]
    nowhere = {"line": 1, "column": 1, "offset": 0}
    assert item["related"] == [{"message": "x", "path": "n", "start": nowhere, "end": nowhere}]
