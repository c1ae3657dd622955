"""Coverage of operators, and of the checks for each entry: as a table for a terminal or in Markdown, and as JSON.

Scripts rely on the JSON of ``derivlint coverage --output-format json``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from derivlint.analysis import judged
from derivlint.analysis.differentiability.coverage import Aspect, Coverage
from derivlint.analysis.differentiability.operators import Answer, Reason, Verdict, Way
from derivlint.analysis.judged import JudgedEntry, Question
from derivlint.formats.machine.json_format import Json, document_text
from derivlint.formats.text import Line, Piece, printable
from derivlint.lint.wording import counted
from derivlint.model.keys import DEFAULT
from derivlint.source import SourceFile

#: The versions of the JSON formats of operators and of checks.
VERSION, JUDGED_VERSION = 1, 1
STYLES = {Answer.YES: "green", Answer.PARTIAL: "yellow", Answer.NO: "red", Answer.UNKNOWN: "dim"}
YES, NO, NOT_ASKED = "yes", "no", "-"
JUDGED_STYLES = {YES: "green", NO: "red", NOT_ASKED: "dim"}
#: The number of blanks between columns.
GAP = 2
#: A row of a table: the operator, the answers with their styles, and the reasons.
Row: TypeAlias = tuple[str, list[tuple[str, str]], str]


class CoverageReport(Struct, frozen=True):
    """The coverage of one file.

    Attributes:
        source: the derivatives file.
        rows: the operators to show.
    """

    source: SourceFile
    rows: tuple[Coverage, ...]


class JudgedReport(Struct, frozen=True):
    """The coverage of the checks for one file.

    Attributes:
        source: the derivatives file.
        rows: the entries to show.
    """

    source: SourceFile
    rows: tuple[JudgedEntry, ...]


def table_lines(
    questions: Sequence[str], rows: Sequence[Row], summary: Iterable[str], reasons: str | None = None
) -> Iterator[Line]:
    """Format a table for a terminal: a line per row, then the totals; with the reasons if their column has a title."""
    names = [printable(name) for name, _, _ in rows]
    first = max(map(len, (*names, "operator"))) + GAP
    widths = [len(text) + GAP for text in questions]
    head = "operator".ljust(first) + "".join(text.ljust(width) for text, width in zip(questions, widths, strict=True))
    yield [Piece(f"{head}{reasons or ''}".rstrip(), "bold")]
    for name, (_, answers, why) in zip(names, rows, strict=True):
        line = [Piece(name.ljust(first))]
        for (text, style), width in zip(answers, widths, strict=True):
            line += [Piece(text, style), Piece(" " * (width - len(text)))]
        # only blanks follow the last answer
        yield [*line, Piece(printable(why))] if reasons and why else line[:-1]
    yield []
    yield from ([Piece(text)] for text in summary)


def table_markdown(
    title: str, questions: Sequence[str], rows: Iterable[Row], summary: Iterable[str], reasons: str
) -> str:
    """Format a page of Markdown: the totals, then a table with the reasons."""
    lines = [f"# {title}", "", *(f"- {text.strip()}" for text in summary)]
    lines += ["", f"| {' | '.join(('operator', *questions, reasons))} |", "|" + " --- |" * (len(questions) + 2)]
    for name, answers, why in rows:
        lines.append(f"| {cell(name)} | {' | '.join(text for text, _ in answers)} | {cell(why)} |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Escape the text of a cell in a Markdown table."""
    return printable(text).replace("|", "\\|").replace("_", "\\_")


ASPECTS = [aspect.value for aspect in Aspect]


def coverage_lines(report: CoverageReport) -> Iterator[Line]:
    """Format the coverage of operators for a terminal: a line per operator, then the totals."""
    return table_lines(ASPECTS, _coverage_rows(report), coverage_summary(report))


def coverage_markdown(report: CoverageReport) -> str:
    """Format the coverage of operators as Markdown: the totals, then the table with reasons."""
    title = f"Coverage of {cell(report.source.path)}"
    return table_markdown(title, ASPECTS, _coverage_rows(report), coverage_summary(report), "why")


def _coverage_rows(report: CoverageReport) -> list[Row]:
    """Return a row per operator, with the dispatch key unless it is ``Default``, and distinct reasons."""
    rows: list[Row] = []
    for row in report.rows:
        name = row.name if row.key in (None, DEFAULT) else f"{row.name} [{row.key}]"
        if row.way is Way.NON_DIFFERENTIABLE:
            answers = [(NOT_ASKED, "dim")] * len(Aspect)
        else:
            answers = [(answer.value, STYLES[answer]) for answer in (row.verdicts[aspect].answer for aspect in Aspect)]
        reasons = {
            reason.text: None
            for aspect in Aspect
            if aspect is not Aspect.COMPLEX and row.verdicts[aspect].answer is not Answer.YES
            for reason in row.verdicts[aspect].reasons
        }
        rows.append((name, answers, "; ".join(reasons)))
    return rows


def coverage_summary(report: CoverageReport) -> Iterator[str]:
    """Format the totals: the number of operators with each answer."""
    left_out = sum(row.way is Way.NON_DIFFERENTIABLE for row in report.rows)
    differentiable = len(report.rows) - left_out
    yield f"{counted(differentiable, 'operator')} that can be differentiated, {left_out:,} that cannot by declaration"
    for aspect, counts in totals(report.rows).items():
        parts = [f"{count:,} {answer.value}" for answer, count in counts.items() if count]
        share = f" ({100 * counts[Answer.YES] / differentiable:.0f}%)" if differentiable else ""
        yield f"  {aspect.value}: {', '.join(parts) or 'none'}{share}"


def totals(rows: Iterable[Coverage]) -> dict[Aspect, dict[Answer, int]]:
    """Count each answer over the differentiable operators."""
    counts = {aspect: dict.fromkeys(Answer, 0) for aspect in Aspect}
    for row in rows:
        if row.way is not Way.NON_DIFFERENTIABLE:
            for aspect in Aspect:
                counts[aspect][row.verdicts[aspect].answer] += 1
    return counts


def render_coverage_json(reports: Sequence[CoverageReport]) -> str:
    """Render the coverage of several files as one JSON document with a line end."""
    return document_text({"version": VERSION, "files": [_coverage_file(report) for report in reports]})


def _coverage_file(report: CoverageReport) -> Json:
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


QUESTIONS = [question.value for question in Question]


def judged_lines(report: JudgedReport) -> Iterator[Line]:
    """Format the coverage of checks for a terminal: a line per entry with reasons, then the totals."""
    return table_lines(QUESTIONS, _judged_rows(report), _judged_summary(report), "why not")


def judged_markdown(report: JudgedReport) -> str:
    """Format the coverage of checks as Markdown: the totals, then the table."""
    title = f"What is judged of {cell(report.source.path)}"
    return table_markdown(title, QUESTIONS, _judged_rows(report), _judged_summary(report), "why not")


def _judged_rows(report: JudgedReport) -> list[Row]:
    rows: list[Row] = []
    for row in report.rows:
        answers = [(text, JUDGED_STYLES[text]) for text in (answer(row, question) for question in Question)]
        reasons = [f"{question.value}: {reason}" for question in Question for reason in row.missing(question)]
        rows.append((row.entry.operator or "", answers, "; ".join(reasons)))
    return rows


def answer(row: JudgedEntry, question: Question) -> str:
    """Return whether all applicable formulas of an entry are judged in an aspect."""
    if not row.is_asked(question):
        return NOT_ASKED
    return NO if row.missing(question) else YES


def render_judged_json(reports: Sequence[JudgedReport]) -> str:
    """Render the coverage of checks for several files as one JSON document with a line end."""
    return document_text({"version": JUDGED_VERSION, "files": [_judged_file(report) for report in reports]})


def _judged_file(report: JudgedReport) -> Json:
    counts = {
        question.value: {YES: number, NO: total - number}
        for question, (number, total) in judged.totals(report.rows).items()
    }
    return {
        "path": report.source.path,
        "entries": [_entry(row, report.source) for row in report.rows],
        "totals": {"entries": len(report.rows), **counts},
    }


def _entry(row: JudgedEntry, source: SourceFile) -> Json:
    formulas = [
        {
            "key": formula.written.key_text,
            "line": source.position(formula.written.key_span.start).line,
            **{question.value: _answer(formula.missing, formula.not_asked, question) for question in Question},
        }
        for formula in row.formulas
    ]
    return {
        "name": row.entry.operator or "",
        **{formula.value: answer(row, formula) for formula in Question},
        "formulas": formulas,
    }


def _answer(missing: dict[Question, str], not_asked: frozenset[Question], question: Question) -> dict[str, str]:
    if question in not_asked:
        return {"judged": NOT_ASKED}
    if question in missing:
        return {"judged": NO, "reason": missing[question]}
    return {"judged": YES}


def _judged_summary(report: JudgedReport) -> Iterator[str]:
    yield f"{counted(len(report.rows), 'entry', 'entries')} with formulas to judge"
    for question, (number, total) in judged.totals(report.rows).items():
        share = f" ({100 * number / total:.0f}%)" if total else ""
        yield f"  {question.value}: {number:,} of {total:,}{share}"


def judged_line(rows: Collection[JudgedEntry]) -> str:
    """Count the judged entries, in one line."""
    parts = [
        f"{question.value} of {number:,} of {total:,}" for question, (number, total) in judged.totals(rows).items()
    ]
    return f"judged {', '.join(parts)} entries; derivlint coverage --judged lists them"
