"""What the one-element world says of all formulas of a model, worked out once."""

from __future__ import annotations

from derivlint.meaning.linearity import is_for_tests
from derivlint.meaning.meaning import Meaning, meaning_of
from derivlint.meaning.one_element.adjoint import contradictions
from derivlint.meaning.one_element.compare import Disagreement, wrong_formulas
from derivlint.meaning.one_element.explained import is_explained
from derivlint.meaning.one_element.ties import WrongShares, wrong_shares
from derivlint.meaning.one_element.truth import truth_of
from derivlint.model import DispatchBody, Model


class Judgement:
    """What is wrong with the formulas of a model.

    Attributes:
        wrong: the formulas that contradict the operator.
        contradictions: the forward formulas that contradict backward ones.
        shares: the formulas whose shares do not add up where arguments are equal.
    """

    def __init__(self, model: Model) -> None:
        meaning = meaning_of(model)
        self.wrong: list[Disagreement] = []
        self.contradictions: list[Disagreement] = []
        self.shares: list[WrongShares] = []
        for entry in model.entries:
            if entry.function is None or is_for_tests(entry):
                continue
            for body in entry.bodies:
                self._judge(meaning, body)

    def _judge(self, meaning: Meaning, body: DispatchBody) -> None:
        differentiability = meaning.model.canonical_differentiability(body)
        if differentiability is None:
            return
        truth = truth_of(differentiability.function)
        if truth is None:
            found = contradictions(meaning, body, differentiability)
            self.contradictions += [item for item in found if not is_explained(meaning, body, item)]
            return
        differing = list(wrong_formulas(meaning, body, differentiability, truth))
        self.wrong += [item for item in differing if not is_explained(meaning, body, item)]
        wrong = {item.formula for item in differing}
        shares = wrong_shares(meaning, body, differentiability)
        self.shares += [item for item in shares if wrong.isdisjoint(item.formulas)]


def judgement_of(model: Model) -> Judgement:
    """What the one-element world says of a model, the same object each time it is asked for."""
    return model.once(Judgement, lambda: Judgement(model))
