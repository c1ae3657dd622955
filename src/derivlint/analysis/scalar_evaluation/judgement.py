"""The mistakes in an entry's formulas that scalar evaluation proves; memoized."""

from __future__ import annotations

from msgspec import Struct, field

from derivlint.analysis.dependence.conjugation import mistakes
from derivlint.analysis.dispatch import derived_from, judged_bodies
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
from derivlint.analysis.scalar_evaluation.reference import reference_of
from derivlint.analysis.scalar_evaluation.ties import WrongShares, wrong_shares
from derivlint.model import Differentiability, DispatchBody, Entry, Model


class Judgement(Struct):
    """The formulas of an entry that are wrong for one-element tensors.

    Attributes:
        wrong: the formulas that contradict the operator.
        contradictions: the forward formulas that contradict backward ones.
        infinite: the formulas that are finite nowhere.
        poles: the formulas that are not finite at some point.
        shares: the formulas whose shares do not add up at equal arguments.
    """

    wrong: list[Disagreement] = field(default_factory=list)
    contradictions: list[Disagreement] = field(default_factory=list)
    infinite: list[NotFinite] = field(default_factory=list)
    poles: list[Pole] = field(default_factory=list)
    shares: list[WrongShares] = field(default_factory=list)


def judgement_of(model: Model, entry: Entry) -> Judgement:
    """The judgement of an entry's formulas."""
    return model.ask(_judgement, model, entry)


def _judgement(model: Model, entry: Entry) -> Judgement:
    judgement = Judgement()
    for body, differentiability in judged_bodies(model, entry):
        _judge(analyses_of(model), body, differentiability, judgement)
    return judgement


def _judge(
    analyses: FormulaAnalyses, body: DispatchBody, differentiability: Differentiability, judgement: Judgement
) -> None:
    reference = reference_of(differentiability.function)
    if reference is None:
        contradicting = contradictions(analyses, body, differentiability)
        judgement.contradictions += [item for item in contradicting if not _is_of_conjugation(analyses, item)]
        return
    checks = compared(analyses, analyses.formulas_of(body), differentiability, reference)
    judgement.infinite += finite_nowhere(differentiability.function, checks)
    # nonlinear formulas have no correct value
    differing = [item for item in wrong_formulas(checks) if not analyses.interpretation(item.formula).culprits]
    formulas = [item.formula for item in differing]
    derived = derived_from(formulas, formulas)
    convicted = [item for item in differing if item.formula not in derived and not _is_of_conjugation(analyses, item)]
    judgement.wrong += convicted
    judged = {item.formula for item in convicted}
    written = [check for check in checks if check.compared and check.formula.written.auto is None]
    right = [check for check in written if check.formula not in judged]
    judgement.poles += poles(differentiability, reference, right)
    wrong = {item.formula for item in differing}
    shares = wrong_shares(analyses, body, differentiability)
    judgement.shares += [item for item in shares if wrong.isdisjoint(item.formulas)]


def _is_of_conjugation(analyses: FormulaAnalyses, item: Disagreement) -> bool:
    """Whether a formula is wrong only for complex numbers, by an unconjugated factor."""
    is_complex = any(type(value) is complex for _, value in item.at)
    return is_complex and any(True for _ in mistakes(analyses.interpretation(item.formula)))
