"""The meaning of the formulas of one model, worked out when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from derivlint.analysis.interpretation.interpret import FormulaInterpreter, Interpretation
from derivlint.analysis.interpretation.operators import OperatorAnswers
from derivlint.analysis.interpretation.premises import declared_linear
from derivlint.analysis.typed import TypedFormula, typed_formulas
from derivlint.model import DispatchBody, Entry, Model
from derivlint.source.lazy import asked_once

T = TypeVar("T")


class FormulaAnalyses:
    """What the formulas of a model mean; every answer is worked out once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.operators = OperatorAnswers(model, partial(declared_linear, model))
        self._interpreter = FormulaInterpreter(self.operators)

    def formulas(self, entry: Entry) -> tuple[TypedFormula, ...]:
        """The backward and forward formulas of an entry, typed."""
        return self.model.ask(_formulas, self.model, entry)

    def interpretation(self, formula: TypedFormula) -> Interpretation:
        """What a formula means."""
        return self.model.ask(self._interpreter.interpret, formula)

    def interpretations(self, entry: Entry) -> tuple[Interpretation, ...]:
        """What the backward and forward formulas of an entry mean."""
        return self.model.ask(_interpretations, self, entry)

    def found(self, entry: Entry, find: Callable[[Interpretation], Iterable[T]]) -> tuple[T, ...]:
        """What a function finds in the formulas of an entry."""
        return self.model.ask(_found, self, entry, find)

    def formulas_of(self, body: DispatchBody) -> tuple[TypedFormula, ...]:
        """The formulas of one dispatch key."""
        return self.model.ask(_by_body, self, body.entry).get(body, ())


def _formulas(model: Model, entry: Entry) -> tuple[TypedFormula, ...]:
    return tuple(typed_formulas(model, entry))


def _by_body(analyses: FormulaAnalyses, entry: Entry) -> dict[DispatchBody, tuple[TypedFormula, ...]]:
    found: dict[DispatchBody, list[TypedFormula]] = {}
    for formula in analyses.formulas(entry):
        found.setdefault(formula.written.body, []).append(formula)
    return {body: tuple(formulas) for body, formulas in found.items()}


def _interpretations(analyses: FormulaAnalyses, entry: Entry) -> tuple[Interpretation, ...]:
    return tuple(map(analyses.interpretation, analyses.formulas(entry)))


def _found(analyses: FormulaAnalyses, entry: Entry, find: Callable[[Interpretation], Iterable[T]]) -> tuple[T, ...]:
    return tuple(item for interpretation in analyses.interpretations(entry) for item in find(interpretation))


@asked_once
def analyses_of(model: Model) -> FormulaAnalyses:
    """The meaning of a model's formulas, the same object each time it is asked for."""
    return FormulaAnalyses(model)
