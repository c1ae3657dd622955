"""What the one-element world says of all formulas of a model, worked out once."""

from __future__ import annotations

from msgspec import Struct, field

from derivlint.meaning.linearity import is_for_tests
from derivlint.meaning.meaning import meaning_of
from derivlint.meaning.one_element.adjoint import contradictions
from derivlint.meaning.one_element.compare import Disagreement, wrong_formulas
from derivlint.meaning.one_element.explained import is_explained
from derivlint.meaning.one_element.ties import WrongShares, wrong_shares
from derivlint.meaning.one_element.truth import truth_of
from derivlint.model import DispatchBody, Entry, Model


class _Judged(Struct):
    """What is wrong with the formulas of one entry."""

    wrong: list[Disagreement] = field(default_factory=list)
    contradictions: list[Disagreement] = field(default_factory=list)
    shares: list[WrongShares] = field(default_factory=list)


class Judgement:
    """What is wrong with the formulas of a model; each entry is judged once, when it is asked for."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._judged: dict[int, _Judged] = {}

    @property
    def wrong(self) -> list[Disagreement]:
        """The formulas that contradict the operator."""
        return [item for entry in self._model.entries for item in self._of(entry).wrong]

    @property
    def contradictions(self) -> list[Disagreement]:
        """The forward formulas that contradict backward ones."""
        return [item for entry in self._model.entries for item in self._of(entry).contradictions]

    @property
    def shares(self) -> list[WrongShares]:
        """The formulas whose shares do not add up where arguments are equal."""
        return [item for entry in self._model.entries for item in self._of(entry).shares]

    def _of(self, entry: Entry) -> _Judged:
        found = self._judged.get(entry.index)
        if found is None:
            found = _Judged()
            if entry.function is not None and not is_for_tests(entry):
                for body in entry.bodies:
                    self._judge(body, found)
            self._judged[entry.index] = found
        return found

    def _judge(self, body: DispatchBody, judged: _Judged) -> None:
        meaning = meaning_of(self._model)
        differentiability = self._model.canonical_differentiability(body)
        if differentiability is None:
            return
        truth = truth_of(differentiability.function)
        if truth is None:
            found = contradictions(meaning, body, differentiability)
            judged.contradictions += [item for item in found if not is_explained(meaning, body, item)]
            return
        differing = list(wrong_formulas(meaning, body, differentiability, truth))
        judged.wrong += [item for item in differing if not is_explained(meaning, body, item)]
        wrong = {item.formula for item in differing}
        shares = wrong_shares(meaning, body, differentiability)
        judged.shares += [item for item in shares if wrong.isdisjoint(item.formulas)]


def judgement_of(model: Model) -> Judgement:
    """What the one-element world says of a model, the same object each time it is asked for."""
    return model.once(Judgement, lambda: Judgement(model))
