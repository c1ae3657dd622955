"""Suggestions: for each wrong or missing formula of a file the best candidates that the judge accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge

from msgspec import Struct

from derivlint.analysis.judged import Question
from derivlint.formula.analysis import not_understood
from derivlint.lint.diagnostic import Severity
from derivlint.lint.wording import counted
from derivlint.model import Entry, Model
from derivlint.operators.reference.definitions import reasons
from derivlint.repair.candidates import Candidate, Target
from derivlint.repair.derivation import derived_formulas
from derivlint.repair.edits import MAX_TOKENS, edited_formulas, is_too_long, twice_edited
from derivlint.repair.equality import Equality, compare_formulas
from derivlint.repair.judge import LEAST_DISTANCE, Accepted, Judge, distance_of

#: The sources of candidates, each in order of cost.
Source = Callable[[Target, Model], Iterator[Candidate]]
SOURCES: tuple[Source, ...] = (edited_formulas, derived_formulas)
#: The maximum number of judged candidates of a formula, of further ones after the first right one, and of shown ones.
MAX_JUDGED = 400
MAX_MORE = 80
MAX_SHOWN = 3
#: The number of nearest wrong candidates whose edits are tried, and of such edits that are judged.
MAX_NEAREST = 6
MAX_JUDGED_TWICE = 300
#: The maximum number of characters of formulas that are checked for one formula: time is linear in it, and a count of
#: characters is the same on every machine.
MAX_CHARACTERS = 100_000


class Suggestion(Struct, frozen=True):
    """The candidates for one formula.

    Attributes:
        target: the formula, or the key without one.
        candidates: at most three, the best one first; none whose values differ from those of a better one.
        unsolved: the reason why there is none, or empty.
        refuted: the formulas that a run in PyTorch refuted, each with the finding.
        error: the unexpected exception that ended the search, or None.
        is_disputed: whether formulas with other values pass the checks as well, which are not among the candidates.
    """

    target: Target
    candidates: tuple[Accepted, ...] = ()
    unsolved: str = ""
    refuted: tuple[tuple[str, str], ...] = ()
    error: Exception | None = None
    is_disputed: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether the only candidate was compared with the operator, and all its properties are checked."""
        only = self.candidates[0] if len(self.candidates) == 1 else None
        if self.is_disputed or only is None or only.judged is None or len(only.candidate.edits) != 1:
            return False
        return only.judged.is_judged(Question.VALUE) and not only.judged.missing


def targets_in(judge: Judge, entries: Iterable[Entry]) -> Iterator[Target]:
    """The formulas of entries that have errors or warnings."""
    for entry in entries:
        findings = judge.findings(entry)
        wrong = {(item.dispatch, item.key) for item in findings if item.severity is not Severity.INFO}
        for formula in entry.formulas:
            if (formula.body.key, formula.key_text) in wrong:
                yield Target(formula.body, formula.key_text, formula, findings)


def suggest(judge: Judge, target: Target, stop: Callable[[], bool] | None = None) -> Suggestion:
    """Return the best candidates for a formula; an unexpected exception loses this formula only.

    Args:
        judge: the judge of the file.
        target: the formula, or the key without one.
        stop: returns whether to give up; called before each candidate.
    """
    try:
        search = _Search(judge, target, stop or (lambda: False))
        search.judge(merge(*(source(target, judge.model) for source in SOURCES), key=_cost), MAX_JUDGED)
        if not any(item.candidate.how == "edit" for item in search.accepted):
            again = (twice_edited(target, candidate, judge.model) for candidate in search.nearest())
            search.judge(merge(*again, key=_cost), MAX_JUDGED_TWICE)
        best = search.best()
        is_disputed = any(item.n_compared and item not in best for item in search.accepted)
        return Suggestion(target, best, "" if best else search.unsolved, is_disputed=is_disputed)
    except Exception as error:
        not_understood(error)
        return Suggestion(target, unsolved=f"internal error: {type(error).__name__}: {error}", error=error)


def _cost(candidate: Candidate) -> float:
    return candidate.cost


def _replaces(accepted: Accepted, equal: Accepted) -> bool:
    """Whether a candidate takes the place of a likelier one with the same values."""
    if accepted.candidate.how != equal.candidate.how:
        # the author's own style takes precedence over a derived formula
        return accepted.candidate.how == "edit"
    # of keywords, as "auto_linear", no value is compared
    return 0 < equal.n_compared < accepted.n_compared


class _Search:
    """The search for the candidates of one formula."""

    def __init__(self, judge: Judge, target: Target, stop: Callable[[], bool]) -> None:
        self._judge = judge
        self._target = target
        self._stop = stop
        self._texts = {target.formula.text if target.formula is not None else None}
        self._rejected: list[tuple[float, Candidate]] = []
        self._most_characters = judge.n_characters + MAX_CHARACTERS
        self._is_complete = True
        self.accepted: list[Accepted] = []

    def judge(self, candidates: Iterable[Candidate], most: int) -> None:
        """Judge candidates until there are enough right ones, or too many wrong ones."""
        for candidate in candidates:
            if candidate.text in self._texts:
                continue
            if self._stop():
                return
            if most <= 0 or self._judge.n_characters >= self._most_characters:
                self._is_complete = False
                return
            self._texts.add(candidate.text)
            most -= 1
            verdict = self._judge.verdict(self._target, candidate)
            if not isinstance(verdict, Accepted):
                self._rejected.append((verdict, candidate))
                continue
            equal = [item for item in self.accepted if self._equality(verdict, item) is Equality.EQUAL]
            if not equal or _replaces(verdict, equal[0]):
                self.accepted = [*(item for item in self.accepted if item not in equal), verdict]
                most = min(most, MAX_MORE)

    @property
    def unsolved(self) -> str:
        """The reason why there is no right candidate."""
        formula = self._target.formula
        if formula is not None and is_too_long(formula):
            return f"formulas of more than {MAX_TOKENS} tokens are not edited"
        own = [item for item in self._target.findings if item.key == self._target.key]
        if formula is not None and own and not any(formula.value_span.contains(item.span) for item in own):
            return (
                f"the mistake is not in the formula; {own[0].help}"
                if own[0].help
                else "the mistake is not in the formula"
            )
        if self.accepted:
            return f"several formulas pass the checks, and nothing tells them apart: {self._convention}"
        if self._is_complete:
            return "no small edit makes it right"
        # the first text is that of the formula
        return f"none of the {counted(len(self._texts) - 1, 'likeliest edit')} makes it right"

    @property
    def _convention(self) -> str:
        """The reason why no check compares the operator's derivative, or empty; so if a finding has a fix."""
        if any(item.key == self._target.key and item.fix is not None for item in self._target.findings):
            return ""
        function = self._target.body.entry.function
        name = function.canonical.name.base if function is not None else ""
        return f'"{name}" {reasons()[name]}' if name in reasons() else ""

    def best(self) -> tuple[Accepted, ...]:
        """The best candidates: of those with different values the one that is compared most, then the likeliest.

        Only those whose values are compared, or one. ``grads[0.5]`` has no value that could be wrong, ``grad`` in its
        place is the derivative.
        """
        if self._convention and len(self.accepted) > 1 and not any(item.n_compared for item in self.accepted):
            return ()
        ranked = sorted(self.accepted, key=lambda item: (-item.n_compared, item.candidate.cost))
        best: list[Accepted] = []
        for accepted in ranked:
            is_rival = any(self._equality(accepted, item) is Equality.DIFFERENT for item in best)
            if not best or (accepted.n_compared and not is_rival):
                best.append(accepted)
        return tuple(sorted(best, key=lambda item: item.candidate.cost)[:MAX_SHOWN])

    def _equality(self, one: Accepted, two: Accepted) -> Equality:
        target = self._target
        return compare_formulas(self._judge.model, target.body, target.key, one.candidate.text, two.candidate.text)

    def nearest(self) -> list[Candidate]:
        """The wrong candidates that came nearer to a right one than the formula is, the nearest first."""
        formula = self._target.formula
        if formula is None or formula.text is None:
            return []
        n_findings = sum(item.key == self._target.key for item in self._target.findings)
        own = distance_of(self._judge.model, self._target, formula.text) or LEAST_DISTANCE * n_findings
        nearer = [(distance, candidate) for distance, candidate in self._rejected if distance < own]
        nearer.sort(key=lambda item: (item[0], item[1].cost))
        return [candidate for _, candidate in nearer[:MAX_NEAREST]]
