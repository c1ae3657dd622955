"""Wrong formulas in PyTorch's own file, and what is suggested for them."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.typed import seed_names
from derivlint.formula import Edit, apply_edits
from derivlint.model import DerivativeFormula, Model
from derivlint.repair.candidates import Target
from derivlint.repair.equality import Equality, compare_formulas, spelling
from derivlint.repair.judge import Judge, edits_for
from derivlint.repair.suggest import Suggestion, suggest, targets_in
from derivlint.source import SourceFile
from derivlint.verify.runner import RunOptions
from derivlint.verify.suggestions import run_suggestions
from tests.mutators.formula_slips import FORMULA_SLIPS
from tests.mutators.meaning import OPERATORS, Subject

#: The factor between the arguments at which candidates are compared with right formulas and those of checks.
HELD = 1.1875


@dataclass(frozen=True)
class WrongFormula:
    """A formula that is wrong.

    Attributes:
        kind: the kind of slip.
        formula: the formula as it was.
        text: the wrong text.
    """

    kind: str
    formula: DerivativeFormula
    text: str


@dataclass
class Outcome:
    """What is suggested for a wrong formula.

    Attributes:
        wrong: the formula.
        suggestion: the suggestion.
        equalities: for each candidate whether it equals the formula as it was.
        seconds: the processor time of it.
        runs: for candidates that were run in PyTorch the reason why they were not compared, or empty.
        refuted: the candidates that finite differences refute, each with the finding.
    """

    wrong: WrongFormula
    suggestion: Suggestion
    equalities: tuple[Equality, ...]
    seconds: float
    runs: dict[str, str] = field(default_factory=dict)
    refuted: dict[str, str] = field(default_factory=dict)

    @property
    def is_first(self) -> bool:
        """Whether the first candidate is right."""
        return self.equalities[:1] == (Equality.EQUAL,)

    @property
    def is_among(self) -> bool:
        """Whether any candidate is right."""
        return Equality.EQUAL in self.equalities

    def shown(self) -> str:
        """The outcome in words."""
        formula = self.wrong.formula
        lines = [f"{self.wrong.kind}: {formula.entry.operator}: {formula.key_text}  ({self.seconds:.1f} s)"]
        lines += [f"    was    {formula.text}", f"    wrong  {self.wrong.text}"]
        lines += [f"    found  {item.message} [{item.rule}]" for item in self.suggestion.target.findings]
        for item, equality in zip(self.suggestion.candidates, self.equalities, strict=True):
            lines.append(f"    {equality.value:9}  {item.candidate.text}  | {item.candidate.cause}")
        return "\n".join(lines)


@dataclass
class Campaign:
    """Wrong formulas of a file."""

    judge: Judge
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def model(self) -> Model:
        """The file as it is."""
        return self.judge.model

    def wrong_formulas(self, seed: int, kinds: Sequence[str] = ()) -> Iterator[WrongFormula]:
        """Wrong formulas without end, all kinds of slips with the same frequency."""
        dice = random.Random(seed)
        wrong = self.judge.wrong_entries()
        formulas = [
            formula
            for entry in self.model.entries
            if entry not in wrong
            for formula in entry.formulas
            if formula.is_expression and formula.auto is None and not (entry.operator or "").startswith("_test_")
        ]
        every = kinds or (*FORMULA_SLIPS, *OPERATORS)
        while True:
            kind, formula = dice.choice(every), dice.choice(formulas)
            text = self._slipped(kind, formula, dice)
            if text is not None and text != formula.text:
                yield WrongFormula(kind, formula, text)

    def _slipped(self, kind: str, formula: DerivativeFormula, dice: random.Random) -> str | None:
        text, tree = formula.text, formula.parsed.tree
        if text is None or tree is None:
            return None
        if kind in FORMULA_SLIPS:
            changes = list(FORMULA_SLIPS[kind](formula))
            return apply_edits(text, [Edit(*dice.choice(changes))]) if changes else None
        typed = next(
            (item for item in analyses_of(self.model).formulas_of(formula.body) if item.written is formula), None
        )
        return OPERATORS[kind](Subject(typed, tree, text, seed_names(typed), dice)) if typed is not None else None

    def outcome(self, wrong: WrongFormula) -> Outcome | None:
        """What is suggested for a wrong formula, or None if it is not found."""
        formula = wrong.formula
        source = self.model.source
        span = formula.value_span
        quoted = '"' + wrong.text.replace("\\", "\\\\").replace('"', '\\"') + '"'
        judge = self.judge.of(SourceFile(source.path, source.text[: span.start] + quoted + source.text[span.end :]))
        begin = time.process_time()
        entry = judge.model.entries[formula.entry.index]
        target = next((item for item in targets_in(judge, [entry]) if item.key == formula.key_text), None)
        if target is None:
            return None
        suggestion = suggest(judge, target)
        if suggestion.error is not None:
            raise suggestion.error
        seconds = time.process_time() - begin
        texts = [item.candidate.text for item in suggestion.candidates]
        right = formula.text or ""
        equalities = tuple(
            Equality.EQUAL
            if text.split() == right.split()
            else compare_formulas(self.model, formula.body, formula.key_text, right, text, HELD)
            for text in texts
        )
        return Outcome(wrong, suggestion, equalities, seconds)

    def run(self, seed: int, count: int, kinds: Sequence[str] = ()) -> Iterator[Outcome]:
        """The outcomes of as many wrong formulas as are found."""
        for wrong in self.wrong_formulas(seed, kinds):
            if len(self.outcomes) == count:
                return
            outcome = self.outcome(wrong)
            if outcome is not None:
                self.outcomes.append(outcome)
                yield outcome

    def run_in_torch(self, options: RunOptions) -> None:
        """Compare the candidates that are not written like the right formula with finite differences."""
        pending = [(outcome, self._to_run(outcome)) for outcome in self.outcomes]
        pending = [(outcome, suggestion) for outcome, suggestion in pending if suggestion.candidates]
        while pending:
            # one formula of each entry at a time
            batch = {item.wrong.formula.entry.index: (item, suggestion) for item, suggestion in reversed(pending)}
            ran = run_suggestions(self.model, [suggestion for _, suggestion in batch.values()], options)
            for (outcome, _), suggestion in zip(batch.values(), ran, strict=True):
                outcome.refuted = dict(suggestion.refuted)
                outcome.runs = {
                    item.candidate.text: item.run.reason for item in suggestion.candidates if item.run is not None
                }
            done = {id(outcome) for outcome, _ in batch.values()}
            pending = [item for item in pending if id(item[0]) not in done]

    def _to_run(self, outcome: Outcome) -> Suggestion:
        """The suggestion for the right formula in the file as it is, without candidates that are written like it."""
        formula = outcome.wrong.formula
        target = Target(formula.body, formula.key_text, formula)
        right = spelling(formula.text or "")
        candidates = []
        for item in outcome.suggestion.candidates:
            candidate = replace(item.candidate, edits=())
            edits = edits_for(target, candidate, self.model.source.text)
            if edits and spelling(candidate.text) != right:
                candidates.append(replace(item, candidate=candidate, edits=edits))
        return Suggestion(target, tuple(candidates))

    def report(self) -> str:
        """The figures, by kind of slip."""
        outcomes = self.outcomes
        lines = [f"{'':28} number  among 3  first"]
        kinds = sorted({item.wrong.kind for item in outcomes})
        lines += [_row(kind, [item for item in outcomes if item.wrong.kind == kind]) for kind in kinds]
        lines.append(_row("all", outcomes))
        shown = Counter(equality.value for item in outcomes for equality in item.equalities)
        seconds = sorted(item.seconds for item in outcomes)
        lines.append(f"candidates shown: {dict(shown)}")
        lines += _torch_report(outcomes)
        lines.append(f"seconds: median {seconds[len(seconds) // 2]:.2f}, p95 {seconds[len(seconds) * 95 // 100]:.2f}")
        return "\n".join(lines)


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    among = sum(item.is_among for item in outcomes)
    first = sum(item.is_first for item in outcomes)
    return f"{name:28} {len(outcomes):6} {among / len(outcomes):8.0%} {first / len(outcomes):6.0%}"


def _torch_report(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The candidates that were run in PyTorch; those that are written like the right formula were not."""
    reasons = Counter(reason for item in outcomes for reason in item.runs.values())
    n_compared = reasons.pop("", 0)
    refuted = [(item, text, message) for item in outcomes for text, message in item.refuted.items()]
    if not (n_compared or refuted or reasons):
        return
    total = sum(len(item.equalities) for item in outcomes)
    yield f"in PyTorch: {len(refuted)} of {total} refuted, {n_compared} right, {reasons.total()} not compared"
    yield from (f"    {number} not compared: {reason}" for reason, number in reasons.most_common())
    for item, text, message in refuted:
        formula = item.wrong.formula
        yield f"    refuted: {formula.entry.operator}: {formula.key_text}: {text}: {message}"
