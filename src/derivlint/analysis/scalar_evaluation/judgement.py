"""What scalar evaluation finds in all formulas of a model, computed once."""

from __future__ import annotations

from msgspec import Struct, field

from derivlint.analysis.dependence.conjugation import mistakes
from derivlint.analysis.dependence.linearity import is_for_tests
from derivlint.analysis.dispatch import valid_bodies
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.scalar_evaluation.adjoint import contradictions
from derivlint.analysis.scalar_evaluation.compare import (
    Disagreement,
    NotFinite,
    compared,
    finite_nowhere,
    wrong_formulas,
)
from derivlint.analysis.scalar_evaluation.poles import Pole, poles
from derivlint.analysis.scalar_evaluation.ties import WrongShares, wrong_shares
from derivlint.analysis.scalar_evaluation.truth import truth_of
from derivlint.model import DispatchBody, Entry, Model


class Judgement(Struct):
    """What is wrong with the formulas of one entry.

    Attributes:
        wrong: the formulas that contradict the operator.
        contradictions: the forward formulas that contradict backward ones.
        infinite: the formulas that are finite nowhere.
        poles: the formulas that are not finite at some point.
        shares: the formulas whose shares do not add up where arguments are equal.
    """

    wrong: list[Disagreement] = field(default_factory=list)
    contradictions: list[Disagreement] = field(default_factory=list)
    infinite: list[NotFinite] = field(default_factory=list)
    poles: list[Pole] = field(default_factory=list)
    shares: list[WrongShares] = field(default_factory=list)


def judgement_of(model: Model, entry: Entry) -> Judgement:
    """What the values of an entry's formulas on tensors of one element say of them."""
    return model.ask(_judgement, model, entry)


def _judgement(model: Model, entry: Entry) -> Judgement:
    found = Judgement()
    if entry.function is not None and not is_for_tests(entry):
        for body in valid_bodies(model, entry):
            _judge(model, body, found)
    return found


def _judge(model: Model, body: DispatchBody, found: Judgement) -> None:
    analyses = analyses_of(model)
    differentiability = model.canonical_differentiability(body)
    if differentiability is None:
        return
    truth = truth_of(differentiability.function)
    if truth is None:
        contradicting = contradictions(analyses, body, differentiability)
        found.contradictions += [item for item in contradicting if not _is_of_conjugation(analyses, item)]
        return
    trials = compared(analyses, analyses.formulas_of(body), differentiability, truth)
    found.infinite += finite_nowhere(differentiability.function, trials)
    differing = list(wrong_formulas(trials))
    convicted = [item for item in differing if not _is_of_conjugation(analyses, item)]
    found.wrong += convicted
    judged = {item.formula for item in convicted}
    right = [trial for trial in trials if trial.compared and trial.formula not in judged]
    found.poles += poles(differentiability, truth, right)
    wrong = {item.formula for item in differing}
    shares = wrong_shares(analyses, body, differentiability)
    found.shares += [item for item in shares if wrong.isdisjoint(item.formulas)]


def _is_of_conjugation(analyses: FormulaAnalyses, item: Disagreement) -> bool:
    """Whether a formula is wrong for complex numbers only, by a factor that is not conjugated."""
    is_complex = any(type(value) is complex for _, value in item.at)
    return is_complex and any(True for _ in mistakes(analyses.interpretation(item.formula)))
