"""Analyses of the formulas of one model, computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from derivlint.analysis.interpretation.interpret import FormulaInterpreter, Interpretation
from derivlint.analysis.interpretation.operators import OperatorDegrees
from derivlint.analysis.interpretation.premises import declared_linear
from derivlint.analysis.typed import TypedFormula, typed_formulas
from derivlint.model import DispatchBody, Entry, Model
from derivlint.source.lazy import memoized

T = TypeVar("T")


class FormulaAnalyses:
    """Typed formulas and their interpretations, each computed once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.operators = OperatorDegrees(model, partial(declared_linear, model))
        self._interpreter = FormulaInterpreter(self.operators)

    def formulas(self, entry: Entry) -> tuple[TypedFormula, ...]:
        """The backward and forward formulas of an entry, typed."""
        return self.model.ask(_formulas, self.model, entry)

    def interpretation(self, formula: TypedFormula) -> Interpretation:
        """Interpret a formula."""
        return self.model.ask(self._interpreter.interpret, formula)

    def interpretations(self, entry: Entry) -> tuple[Interpretation, ...]:
        """Interpret the backward and forward formulas of an entry."""
        return self.model.ask(_interpretations, self, entry)

    def collect(self, entry: Entry, analyze: Callable[[Interpretation], Iterable[T]]) -> tuple[T, ...]:
        """The results of an analysis for all formulas of an entry."""
        return self.model.ask(_collected, self, entry, analyze)

    def formulas_of(self, body: DispatchBody) -> tuple[TypedFormula, ...]:
        """The formulas of one dispatch key."""
        return self.model.ask(_by_body, self, body.entry).get(body, ())


def _formulas(model: Model, entry: Entry) -> tuple[TypedFormula, ...]:
    return tuple(typed_formulas(model, entry))


def _by_body(analyses: FormulaAnalyses, entry: Entry) -> dict[DispatchBody, tuple[TypedFormula, ...]]:
    by_body: dict[DispatchBody, list[TypedFormula]] = {}
    for formula in analyses.formulas(entry):
        by_body.setdefault(formula.written.body, []).append(formula)
    return {body: tuple(formulas) for body, formulas in by_body.items()}


def _interpretations(analyses: FormulaAnalyses, entry: Entry) -> tuple[Interpretation, ...]:
    return tuple(map(analyses.interpretation, analyses.formulas(entry)))


def _collected(
    analyses: FormulaAnalyses, entry: Entry, analyze: Callable[[Interpretation], Iterable[T]]
) -> tuple[T, ...]:
    return tuple(item for interpretation in analyses.interpretations(entry) for item in analyze(interpretation))


@memoized
def analyses_of(model: Model) -> FormulaAnalyses:
    """The analyses of a model's formulas, one object for each model."""
    return FormulaAnalyses(model)
