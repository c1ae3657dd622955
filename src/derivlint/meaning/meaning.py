"""The meaning of the formulas of one model, worked out when it is asked for."""

from __future__ import annotations

from derivlint.meaning.typed import TypedFormula, typed_formulas
from derivlint.model import DispatchBody, Entry, Model


class Meaning:
    """What the formulas of a model mean; every answer is worked out once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._formulas: dict[int, tuple[TypedFormula, ...]] = {}

    def formulas(self, entry: Entry) -> tuple[TypedFormula, ...]:
        """The backward and forward formulas of an entry, typed."""
        found = self._formulas.get(entry.index)
        if found is None:
            found = self._formulas[entry.index] = tuple(typed_formulas(self.model, entry))
        return found

    def formulas_of(self, body: DispatchBody) -> tuple[TypedFormula, ...]:
        """The formulas of one dispatch key."""
        return tuple(formula for formula in self.formulas(body.entry) if formula.line.body is body)


def meaning_of(model: Model) -> Meaning:
    """The meaning of a model's formulas, the same object each time it is asked for."""
    found = model.derived.get(Meaning)
    if not isinstance(found, Meaning):
        found = model.derived[Meaning] = Meaning(model)
    return found
