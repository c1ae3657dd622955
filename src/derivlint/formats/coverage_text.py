"""Coverage as a table: for people, in a terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.differentiability.coverage import Aspect, Coverage
from derivlint.analysis.differentiability.operators import Answer, Way
from derivlint.formats.machine.coverage_json import CoverageReport, totals
from derivlint.formats.text import Line, Piece, printable
from derivlint.lint.wording import counted
from derivlint.model.keys import DEFAULT

STYLES = {Answer.YES: "green", Answer.PARTIAL: "yellow", Answer.NO: "red", Answer.UNKNOWN: "dim"}
NOT_ASKED = "-"
HEADER = ("operator", *(aspect.value for aspect in Aspect))
#: The columns between columns.
GAP = 2


def operator_text(row: Coverage) -> str:
    """The operator, with the dispatch key where that is not ``Default``."""
    return row.name if row.key in (None, DEFAULT) else f"{row.name} [{row.key}]"


def answer_texts(row: Coverage) -> list[tuple[str, str]]:
    """The answers of a row, each with its style."""
    if row.way is Way.NON_DIFFERENTIABLE:
        return [(NOT_ASKED, "dim")] * len(Aspect)
    answers = [row.verdicts[aspect].answer for aspect in Aspect]
    return [(answer.value, STYLES[answer]) for answer in answers]


def coverage_lines(report: CoverageReport) -> Iterator[Line]:
    """A table for a terminal: one line for each operator, then the totals."""
    names = [printable(operator_text(row)) for row in report.rows]
    first = max(map(len, (*names, HEADER[0]))) + GAP
    widths = [len(text) + GAP for text in HEADER[1:]]
    head = HEADER[0].ljust(first) + "".join(text.ljust(width) for text, width in zip(HEADER[1:], widths, strict=True))
    yield [Piece(head.rstrip(), "bold")]
    for name, row in zip(names, report.rows, strict=True):
        line = [Piece(name.ljust(first))]
        for (text, style), width in zip(answer_texts(row), widths, strict=True):
            line += [Piece(text, style), Piece(" " * (width - len(text)))]
        # nothing but blanks after the last answer
        yield line[:-1]
    yield []
    yield from ([Piece(text)] for text in summary(report))


def summary(report: CoverageReport) -> Iterator[str]:
    """The totals: how many operators have what."""
    left_out = sum(row.way is Way.NON_DIFFERENTIABLE for row in report.rows)
    differentiable = len(report.rows) - left_out
    yield f"{counted(differentiable, 'operator')} that can be differentiated, {left_out:,} that cannot by declaration"
    for aspect, counts in totals(report.rows).items():
        parts = [f"{count:,} {answer.value}" for answer, count in counts.items() if count]
        share = f" ({100 * counts[Answer.YES] / differentiable:.0f}%)" if differentiable else ""
        yield f"  {aspect.value}: {', '.join(parts) or 'none'}{share}"


def coverage_markdown(report: CoverageReport) -> str:
    """The same as Markdown, with the reasons for each row."""
    lines = [f"# Coverage of {cell(report.source.path)}", ""]
    lines += [f"- {text.strip()}" for text in summary(report)]
    lines += ["", f"| {' | '.join(HEADER)} | why |", "|" + " --- |" * (len(HEADER) + 1)]
    for row in report.rows:
        answers = " | ".join(text for text, _ in answer_texts(row))
        lines.append(f"| {cell(operator_text(row))} | {answers} | {cell(why(row))} |")
    return "\n".join(lines) + "\n"


def why(row: Coverage) -> str:
    """The reasons of a row, each once."""
    reasons = {
        reason.text: None
        for aspect in Aspect
        if aspect is not Aspect.COMPLEX and row.verdicts[aspect].answer is not Answer.YES
        for reason in row.verdicts[aspect].reasons
    }
    return "; ".join(reasons)


def cell(text: str) -> str:
    """A text as it can be in a table of Markdown."""
    return printable(text).replace("|", "\\|").replace("_", "\\_")
