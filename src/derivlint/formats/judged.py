"""The coverage of the checks for each entry: a table for a terminal or in Markdown, or JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct

from derivlint.analysis.judged import JudgedEntry, Question, totals
from derivlint.formats.coverage_text import cell
from derivlint.formats.text import Line, Piece, printable
from derivlint.lint.wording import counted
from derivlint.source import SourceFile, visible_json

VERSION = 1
YES, NO, NOT_ASKED = "yes", "no", "-"
_STYLES = {YES: "green", NO: "red", NOT_ASKED: "dim"}
_HEADER = ("operator", *(question.value for question in Question))
#: The columns between columns.
_GAP = 2


class JudgedReport(Struct, frozen=True):
    """The coverage of the checks for one file.

    Attributes:
        source: the derivatives file.
        rows: the entries to show.
    """

    source: SourceFile
    rows: tuple[JudgedEntry, ...]


def answer(row: JudgedEntry, question: Question) -> str:
    """Whether something is judged of all formulas of an entry that it can be judged of."""
    if not row.is_asked(question):
        return NOT_ASKED
    return NO if row.missing(question) else YES


def judged_lines(report: JudgedReport) -> Iterator[Line]:
    """A table for a terminal: one line for each entry, with the reasons below it, then the totals."""
    names = [printable(_name(row)) for row in report.rows]
    first = max(map(len, (*names, _HEADER[0]))) + _GAP
    widths = [len(text) + _GAP for text in _HEADER[1:]]
    head = _HEADER[0].ljust(first) + "".join(text.ljust(width) for text, width in zip(_HEADER[1:], widths, strict=True))
    yield [Piece(f"{head}why not", "bold")]
    for name, row in zip(names, report.rows, strict=True):
        line = [Piece(name.ljust(first))]
        for question, width in zip(Question, widths, strict=True):
            text = answer(row, question)
            line += [Piece(text, _STYLES[text]), Piece(" " * (width - len(text)))]
        reasons = printable("; ".join(_reasons(row)))
        yield [*line, Piece(reasons)] if reasons else line[:-1]
    yield []
    yield from ([Piece(text)] for text in _summary(report))


def judged_markdown(report: JudgedReport) -> str:
    """The same as Markdown."""
    lines = [f"# What is judged of {cell(report.source.path)}", ""]
    lines += [f"- {text.strip()}" for text in _summary(report)]
    lines += ["", f"| {' | '.join(_HEADER)} | why not |", "|" + " --- |" * (len(_HEADER) + 1)]
    for row in report.rows:
        answers = " | ".join(answer(row, question) for question in Question)
        lines.append(f"| {cell(_name(row))} | {answers} | {cell('; '.join(_reasons(row)))} |")
    return "\n".join(lines) + "\n"


def render_judged_json(reports: Sequence[JudgedReport]) -> str:
    """Return the coverage of several files as one JSON document with a line end."""
    document = {"version": VERSION, "files": [_file(report) for report in reports]}
    return visible_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _file(report: JudgedReport) -> dict[str, Any]:
    return {
        "path": report.source.path,
        "entries": [_entry(row, report.source) for row in report.rows],
        "totals": {"entries": len(report.rows), **_totals(report)},
    }


def _entry(row: JudgedEntry, source: SourceFile) -> dict[str, Any]:
    formulas = [
        {
            "key": formula.written.key_text,
            "line": source.position(formula.written.key_span.start).line,
            **{question.value: _answer(formula.missing, formula.not_asked, question) for question in Question},
        }
        for formula in row.formulas
    ]
    return {"name": _name(row), **{formula.value: answer(row, formula) for formula in Question}, "formulas": formulas}


def _answer(missing: dict[Question, str], not_asked: frozenset[Question], question: Question) -> dict[str, str]:
    if question in not_asked:
        return {"judged": NOT_ASKED}
    if question in missing:
        return {"judged": NO, "reason": missing[question]}
    return {"judged": YES}


def _totals(report: JudgedReport) -> dict[str, dict[str, int]]:
    return {
        question.value: {YES: judged, NO: total - judged} for question, (judged, total) in totals(report.rows).items()
    }


def _summary(report: JudgedReport) -> Iterator[str]:
    yield f"{counted(len(report.rows), 'entry', 'entries')} with formulas to judge"
    for question, (judged, total) in totals(report.rows).items():
        share = f" ({100 * judged / total:.0f}%)" if total else ""
        yield f"  {question.value}: {judged:,} of {total:,}{share}"


def judged_line(rows: Collection[JudgedEntry]) -> str:
    """Count the entries that are judged, in one line."""
    parts = [f"{question.value} of {judged:,} of {total:,}" for question, (judged, total) in totals(rows).items()]
    return f"judged {', '.join(parts)} entries; derivlint coverage --judged lists them"


def _name(row: JudgedEntry) -> str:
    return row.entry.operator or ""


def _reasons(row: JudgedEntry) -> list[str]:
    return [f"{question.value}: {reason}" for question in Question for reason in row.missing(question)]
