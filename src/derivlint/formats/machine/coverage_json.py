"""Coverage as JSON, in the shape that scripts rely on: ``derivlint coverage --output-format json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from derivlint.analysis.differentiability.coverage import Aspect, Coverage
from derivlint.analysis.differentiability.operators import Answer, Reason, Verdict, Way
from derivlint.source import SourceFile, visible_json

VERSION = 1
Json = dict[str, Any]


class CoverageReport(Struct, frozen=True):
    """The coverage of one file.

    Attributes:
        source: the derivatives file.
        rows: the operators to show.
    """

    source: SourceFile
    rows: tuple[Coverage, ...]


def totals(rows: Iterable[Coverage]) -> dict[Aspect, dict[Answer, int]]:
    """The number of each answer, over the operators that can be differentiated."""
    counts = {aspect: dict.fromkeys(Answer, 0) for aspect in Aspect}
    for row in rows:
        if row.way is not Way.NON_DIFFERENTIABLE:
            for aspect in Aspect:
                counts[aspect][row.verdicts[aspect].answer] += 1
    return counts


def render_coverage_json(reports: Sequence[CoverageReport]) -> str:
    """The coverage of several files as one JSON document with a line end."""
    document = {"version": VERSION, "files": [_file(report) for report in reports]}
    return visible_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _file(report: CoverageReport) -> Json:
    ways = dict.fromkeys((way.value for way in Way), 0)
    for row in report.rows:
        ways[row.way.value] += 1
    counts = totals(report.rows)
    return {
        "path": report.source.path,
        "operators": [_operator(row, report.source) for row in report.rows],
        "totals": {
            "operators": len(report.rows),
            "ways": ways,
            **{aspect.value: {answer.value: count for answer, count in counts[aspect].items()} for aspect in Aspect},
        },
    }


def _operator(row: Coverage, source: SourceFile) -> Json:
    return {
        "name": row.name,
        "dispatch": row.key,
        "schema": str(row.function.schema),
        "line": source.position(row.body.entry.name_span.start).line if row.body is not None else None,
        "way": row.way.value,
        **{aspect.value: _verdict(row.verdicts[aspect], source) for aspect in Aspect},
    }


def _verdict(verdict: Verdict, source: SourceFile) -> Json:
    return {"answer": verdict.answer.value, "reasons": [_reason(reason, source) for reason in verdict.reasons]}


def _reason(reason: Reason, source: SourceFile) -> Json:
    place = None
    if reason.formula is not None and reason.node is not None:
        line, column = source.position(reason.formula.span_of(reason.node).start)
        place = {"line": line, "column": column}
    return {"text": reason.text, "operator": reason.operator, "place": place}
