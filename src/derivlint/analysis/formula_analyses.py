"""Analyses of the formulas of one model, computed on demand.

Declarations in other entries count only if confirmed, so that one mistake in an entry never makes another's formula
wrong: ``auto_linear`` counts if the backward formula of one argument agrees, that is, is nonzero and reads only sizes
and types of the argument and the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from derivlint.analysis.interpretation.interpret import FormulaInterpreter, Interpretation
from derivlint.analysis.interpretation.operators import OperatorDegrees, is_zero
from derivlint.analysis.typed import TypedFormula, typed_formulas
from derivlint.model import DispatchBody, Entry, Model
from derivlint.model.index import BY_BASE
from derivlint.model.keys import AUTO_LINEAR
from derivlint.model.query import file_fact
from derivlint.operators.reference.terms import Polynomial, Term
from derivlint.source.lazy import memoized

T = TypeVar("T")


class FormulaAnalyses:
    """Typed formulas and their interpretations; memoized."""

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
        """Collect the results of an analysis for all formulas of an entry."""
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
    """The analyses of a model's formulas; memoized."""
    return FormulaAnalyses(model)


def declared_linear(model: Model, name: str) -> Polynomial | None:
    """The polynomial of an operator that ``auto_linear`` declares linear in one argument, if its formula agrees."""
    linear, *parameters = model.fact(_linear, name) or [""]
    return Polynomial(tuple(parameters), (Term((linear,)),)) if linear else None


@file_fact
def _linear(model: Model, name: str) -> tuple[str, ...]:
    """The linear argument of an operator declared linear, followed by its parameters; empty for other operators."""
    for entry in model.entries_in(BY_BASE, name):
        if entry.function is None:
            continue
        for body in entry.bodies:
            if body.info is not None and any(formula.auto == AUTO_LINEAR for formula in body.formulas):
                zero = {
                    name for derivative in body.info.derivatives if is_zero(derivative) for name in derivative.var_names
                }
                names = [binding.name for binding in body.info.args_with_derivatives if binding.name not in zero]
                # the linear argument comes first
                if tuple(names) == entry.function.tensor_arguments[:1] and _agrees(model, body, names[0]):
                    return (names[0], *(binding.name for binding in entry.function.arguments))
    return ()


def _agrees(model: Model, body: DispatchBody, name: str) -> bool:
    """Whether the backward formula of the linear argument reads neither the argument nor an output."""
    function = body.entry.function
    assert function is not None
    # reads of backward formulas do not depend on declarations of linearity
    interpreter = FormulaInterpreter(OperatorDegrees(model))
    formulas = [
        formula
        for formula in typed_formulas(model, body.entry)
        if formula.is_backward and formula.written.body is body and name in formula.names
    ]
    read = {name, *(output.name for output in function.outputs)}
    roots = [interpreter.interpret(formula).root for formula in formulas]
    # "not_implemented" reads nothing, but is not evidence
    return bool(roots) and all(root.seeds and not any(map(root.may_read, read)) for root in roots)
