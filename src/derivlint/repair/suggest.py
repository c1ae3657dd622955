"""Suggestions: for each wrong or missing formula of a file the best candidates that the judge accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice

from msgspec import Struct

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.severity import Severity
from derivlint.model import Entry, Model
from derivlint.repair.candidates import Candidate, Target
from derivlint.repair.edits import edited_formulas
from derivlint.repair.judge import Accepted, Judge

#: Where candidates come from, each in the order of their cost.
Source = Callable[[Target, Model], Iterator[Candidate]]
SOURCES: tuple[Source, ...] = (edited_formulas,)
#: So many candidates of a formula are judged, and so many are shown.
MAX_JUDGED = 400
MAX_SHOWN = 3


class Suggestion(Struct, frozen=True):
    """The candidates for one formula.

    Attributes:
        target: the formula, or the key without one.
        candidates: at most three, the best one first.
        unsolved: why there is none, or empty.
    """

    target: Target
    candidates: tuple[Accepted, ...] = ()
    unsolved: str = ""


def wrong_formulas(judge: Judge, entries: Iterable[Entry]) -> Iterator[Target]:
    """The formulas of entries that have errors or warnings."""
    for entry in entries:
        findings = tuple(judge.findings(entry))
        wrong = {(item.dispatch, item.key) for item in findings if is_wrong(item)}
        for formula in entry.formulas:
            if (formula.body.key, formula.key_text) in wrong:
                yield Target(formula.body, formula.key_text, formula, findings)


def is_wrong(finding: Diagnostic) -> bool:
    """Whether a finding says that a formula is wrong."""
    return finding.key is not None and finding.severity is not Severity.INFO


def suggest(judge: Judge, target: Target, stop: Callable[[], bool] | None = None) -> Suggestion:
    """Return the best candidates for a formula.

    Args:
        judge: the judge of the file.
        target: the formula, or the key without one.
        stop: returns whether to give up; called before each candidate.
    """
    accepted: list[Accepted] = []
    texts: set[str] = {target.formula.text or ""} if target.formula is not None else set()
    sources = (source(target, judge.model) for source in SOURCES)
    for candidate in islice(merge(*sources, key=lambda candidate: candidate.cost), MAX_JUDGED):
        if stop is not None and stop():
            break
        if candidate.text in texts:
            continue
        texts.add(candidate.text)
        verdict = judge.verdict(target, candidate)
        if verdict is not None:
            accepted.append(verdict)
            if len(accepted) == MAX_SHOWN:
                break
    accepted.sort(key=lambda item: item.candidate.cost)
    return Suggestion(target, tuple(accepted), "" if accepted else "no candidate is right")
