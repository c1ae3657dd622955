"""Suggestions as text for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from derivlint.analysis.judged import JudgedFormula, Question
from derivlint.analysis.scalar_evaluation.points import NumberKind
from derivlint.formats.text import Line, Piece, printable
from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.wording import counted
from derivlint.repair.judge import Accepted
from derivlint.repair.suggest import Suggestion
from derivlint.source import SourceFile, visible_json

VERSION = 1
#: The words of JSON and of texts for what can be checked of a formula.
PROPERTIES = {
    Question.VALUE: ("values", "its values"),
    Question.LINEAR: ("linearity", "linearity"),
    Question.COMPLEX: ("conjugation", "conjugation"),
    Question.SHAPES: ("shapes", "sizes"),
}


class FileSuggestions(Struct, frozen=True):
    """The suggestions for the formulas of one file.

    Attributes:
        source: the file.
        suggestions: the suggestions, in file order.
    """

    source: SourceFile
    suggestions: tuple[Suggestion, ...]


def proof_of(judged: JudgedFormula | None) -> list[str]:
    """The checks that a candidate passed, in words."""
    proof = ["types are right"]
    if judged is None:
        return proof
    points = [counted(n, f"{kind.value} point") for kind, n in judged.points.items() if kind is not NumberKind.MIXED]
    if judged.n_tensors:
        points.append(counted(judged.n_tensors, "set of small tensors", "sets of small tensors"))
    if points:
        proof.insert(0, "equals the derivative at " + " and ".join(points))
    for question, words in ((Question.SHAPES, "sizes are right"), (Question.LINEAR, "linear in the gradient")):
        if judged.is_judged(question):
            proof.append(words if judged.written.role.value == "backward" else words.replace("gradient", "tangent"))
    return proof


def doubts_of(judged: JudgedFormula | None) -> list[str]:
    """The properties of a candidate that were not checked, with the reasons."""
    if judged is None:
        return ["nothing but types is checked"]
    return [f"{PROPERTIES[question][1]}: {reason}" for question, reason in judged.missing.items()]


def suggestion_lines(report: FileSuggestions) -> Iterator[Line]:
    """The suggestions for a terminal: of each formula the findings, then the candidates, each with its proof."""
    for number, suggestion in enumerate(report.suggestions):
        if number:
            yield []
        target = suggestion.target
        span = target.formula.value_span if target.formula is not None else target.body.entry.name_span
        line, column = report.source.position(span.start)
        subject = f"{target.body.entry.operator}: {target.key}"
        yield [Piece(printable(f"{report.source.path}:{line}:{column}: ")), Piece(printable(subject), "bold")]
        yield from ([Piece(printable(f"  {text}"))] for text in _facts(suggestion))
        for index, accepted in enumerate(suggestion.candidates, 1):
            yield from _candidate(suggestion, accepted, index)
        if suggestion.unsolved:
            yield [Piece(printable(f"  no suggestion: {suggestion.unsolved}"), "yellow")]


def _facts(suggestion: Suggestion) -> Iterator[str]:
    findings = [item for item in suggestion.target.findings if item.key == suggestion.target.key]
    yield from dict.fromkeys(f"{item.message} [{item.rule}]" for item in findings)
    if suggestion.target.formula is None:
        yield "there is no formula"


def _candidate(suggestion: Suggestion, accepted: Accepted, index: int) -> Iterator[Line]:
    formula, candidate = suggestion.target.formula, accepted.candidate
    if formula is not None:
        yield [Piece(printable(f"  - {formula.text}"), "red")]
    yield [Piece(printable(f"{index} + {candidate.text}"), "green")]
    if candidate.cause and all(candidate.cause != item.message for item in suggestion.target.findings):
        yield [Piece(printable(f"    {candidate.cause}"))]
    yield [Piece(printable(f"    {'; '.join(proof_of(accepted.judged))}"))]
    doubts = doubts_of(accepted.judged)
    if doubts:
        yield [Piece(printable(f"    not checked: {'; '.join(doubts)}"), "dim")]


def render_suggestions_json(reports: Sequence[FileSuggestions]) -> str:
    """Return the suggestions for several files as one JSON document with a line end."""
    suggestions = [_document(report, item) for report in reports for item in report.suggestions]
    document = {"version": VERSION, "suggestions": suggestions}
    return visible_json(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def _document(report: FileSuggestions, suggestion: Suggestion) -> dict[str, Any]:
    target = suggestion.target
    return {
        "path": report.source.path,
        "entry": target.body.entry.operator,
        "dispatch": target.body.key,
        "key": target.key,
        "reason": "missing" if target.formula is None else "wrong-gradient",
        "findings": [_finding(item) for item in target.findings if item.key == target.key],
        "candidates": [_candidate_document(accepted, suggestion.is_certain) for accepted in suggestion.candidates],
        "unsolved": suggestion.unsolved or None,
    }


def _finding(finding: Diagnostic) -> dict[str, str]:
    return {"rule": finding.rule, "message": finding.message}


def _candidate_document(accepted: Accepted, is_certain: bool) -> dict[str, Any]:
    judged = accepted.judged
    properties = [word for question, (word, _) in PROPERTIES.items() if judged and judged.is_judged(question)]
    return {
        "formula": accepted.candidate.text,
        "edits": [{"start": item.span.start, "end": item.span.end, "text": item.text} for item in accepted.edits],
        "certain": is_certain,
        "how": accepted.candidate.how,
        "cause": accepted.candidate.cause or None,
        "judged": [*properties[:1], "types", *properties[1:]]
        if properties[:1] == ["values"]
        else ["types", *properties],
        "not_judged": doubts_of(judged),
    }
