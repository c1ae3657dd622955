"""Suggestions as text for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from derivlint.analysis.judged import JudgedFormula, Question
from derivlint.analysis.scalar_evaluation.points import NumberKind
from derivlint.formats.machine.json_format import document_text
from derivlint.formats.text import Line, Piece, printable
from derivlint.lint.diagnostic import Diagnostic, TextEdit
from derivlint.lint.wording import counted
from derivlint.repair.candidates import How
from derivlint.repair.judge import Accepted, TorchRun
from derivlint.repair.suggest import Suggestion
from derivlint.source import SourceFile

VERSION = 1
#: The names of the checks of a formula, in JSON and in texts.
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


class SuggestedFormula(Struct, frozen=True):
    """A suggested formula without findings.

    Attributes:
        formula: its text.
        edits: the edits that insert it into the file.
        certain: whether it is the only candidate, one edit away, compared with the operator, and fully checked.
        how: its source: edits or derivation.
        cause: a description of the corrected slip; empty if it was derived.
        judged: the properties that were checked.
        not_judged: the properties that were not checked, with the reasons.
    """

    formula: str
    edits: tuple[TextEdit, ...]
    certain: bool
    how: How
    cause: str
    judged: tuple[str, ...]
    not_judged: tuple[str, ...]


class FormulaSuggestions(Struct, frozen=True):
    """The suggestions for one formula.

    Attributes:
        path: the file.
        entry: the operator.
        dispatch: the dispatch key.
        key: the key of the formula.
        reason: whether the formula is wrong or missing.
        findings: the findings about it.
        candidates: at most three formulas, the best one first.
        unsolved: the reason why there is no candidate, or empty.
    """

    path: str
    entry: str
    dispatch: str
    key: str
    reason: Literal["wrong-gradient", "missing"]
    findings: tuple[Diagnostic, ...]
    candidates: tuple[SuggestedFormula, ...]
    unsolved: str


def described(path: str, suggestion: Suggestion) -> FormulaSuggestions:
    """Return the suggestions for one formula, without its model."""
    target = suggestion.target
    return FormulaSuggestions(
        path,
        target.body.entry.operator or "",
        target.body.key,
        target.key,
        "missing" if target.formula is None else "wrong-gradient",
        tuple(item for item in target.findings if item.key == target.key),
        tuple(_described(accepted, suggestion.is_certain) for accepted in suggestion.candidates),
        suggestion.unsolved,
    )


def _described(accepted: Accepted, is_certain: bool) -> SuggestedFormula:
    candidate, judged = accepted.candidate, accepted.judged
    properties = [word for question, (word, _) in PROPERTIES.items() if judged and judged.is_judged(question)]
    # types are checked for every candidate, and listed after values
    properties.insert("values" in properties, "types")
    return SuggestedFormula(
        candidate.text,
        accepted.edits,
        is_certain,
        candidate.how,
        candidate.cause,
        tuple(properties),
        tuple(doubts_of(judged)),
    )


def proof_of(judged: JudgedFormula | None) -> list[str]:
    """Describe the checks that a candidate passed."""
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
    """List the unchecked properties of a candidate, with the reasons."""
    if judged is None:
        return ["nothing but types is checked"]
    return [f"{PROPERTIES[question][1]}: {reason}" for question, reason in judged.missing.items()]


def suggestion_lines(report: FileSuggestions) -> Iterator[Line]:
    """Format suggestions for a terminal: per formula the findings, then the candidates with their proofs."""
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
        if suggestion.is_disputed:
            yield [Piece("    formulas with other values pass the checks, too", "dim")]
        for formula, message in suggestion.refuted:
            yield [Piece(printable(f"  refuted in PyTorch: {formula}"), "yellow")]
            yield [Piece(printable(f"    {message}"))]
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
    if candidate.cause:
        yield [Piece(printable(f"    {candidate.cause}"))]
    yield [Piece(printable(f"    {'; '.join(proof_of(accepted.judged))}"))]
    doubts = doubts_of(accepted.judged)
    if doubts:
        yield [Piece(printable(f"    not checked: {'; '.join(doubts)}"), "dim")]
    run = accepted.run
    if run is not None and run.reason:
        yield [Piece(printable(f"    not run in PyTorch: {run.reason}"), "dim")]
    elif run is not None:
        yield [Piece(f"    equals finite differences in PyTorch at {counted(run.n_inputs, 'input')}")]


def render_suggestions_json(reports: Sequence[FileSuggestions]) -> str:
    """Render the suggestions for several files as one JSON document with a line end."""
    suggestions = [_document(report.source.path, item) for report in reports for item in report.suggestions]
    return document_text({"version": VERSION, "suggestions": suggestions})


def _document(path: str, suggestion: Suggestion) -> dict[str, Any]:
    item = described(path, suggestion)
    candidates = zip(item.candidates, suggestion.candidates, strict=True)
    return {
        **{name: getattr(item, name) for name in ("path", "entry", "dispatch", "key", "reason")},
        "findings": [{"rule": finding.rule, "message": finding.message} for finding in item.findings],
        "candidates": [_candidate_document(candidate, accepted.run) for candidate, accepted in candidates],
        "refuted": [{"formula": formula, "message": message} for formula, message in suggestion.refuted],
        "unsolved": item.unsolved or None,
    }


def _candidate_document(candidate: SuggestedFormula, run: TorchRun | None) -> dict[str, Any]:
    return {
        "formula": candidate.formula,
        "edits": [{"start": item.span.start, "end": item.span.end, "text": item.text} for item in candidate.edits],
        "certain": candidate.certain,
        "how": candidate.how,
        "cause": candidate.cause or None,
        "judged": candidate.judged,
        "not_judged": candidate.not_judged,
        "run": None if run is None else {"inputs": run.n_inputs, "reason": run.reason or None},
    }
