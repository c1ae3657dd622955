"""The formulas of an entry with wrong sizes, computed once."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.dependence.linearity import is_for_tests
from derivlint.analysis.dispatch import valid_bodies
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.shapes.cases import legal_cases
from derivlint.analysis.shapes.compare import ShapeProblem, WrongShape, has_known_sizes, wrong_shapes
from derivlint.analysis.shapes.evaluate import is_understood
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Call
from derivlint.model import DispatchBody, Entry, Model
from derivlint.operators.shapes.sizes import unsized


def wrong_shapes_of(model: Model, entry: Entry, problem: ShapeProblem) -> Iterator[WrongShape]:
    """The formulas of an entry whose sizes cannot be right, with one problem."""
    return (wrong for wrong in shape_judgement_of(model, entry) if wrong.problem is problem)


def shape_judgement_of(model: Model, entry: Entry) -> tuple[WrongShape, ...]:
    """The formulas of an entry whose sizes cannot be right."""
    return model.ask(_judged, model, entry)


def _judged(model: Model, entry: Entry) -> tuple[WrongShape, ...]:
    if entry.function is None or is_for_tests(entry):
        return ()
    analyses = analyses_of(model)
    return tuple(
        wrong
        for body in valid_bodies(model, entry)
        if (differentiability := model.canonical_differentiability(body)) is not None
        for wrong in wrong_shapes(differentiability, analyses.formulas_of(body), analyses.operators)
    )


def why_unsized(analyses: FormulaAnalyses, body: DispatchBody, formula: TypedFormula) -> str:
    """Why the sizes of a formula are not known; empty if they are."""
    differentiability = analyses.model.canonical_differentiability(body)
    if differentiability is None:
        return "the operator is not known"
    function = differentiability.function
    if not any(True for _ in legal_cases(function)):
        base = function.name.base
        return f'"{base}" {_reason(base)}'
    if has_known_sizes(differentiability, formula, analyses.operators):
        return ""
    for node in formula.nodes:
        call = formula.call(node) if isinstance(node, Call) else None
        if call is not None and (call.name in unsized() or not is_understood(formula, analyses.operators, call.node)):
            return f'"{call.spelling}" {_reason(call.name)}'
    return "its sizes depend on values"


def _reason(name: str) -> str:
    return unsized().get(name, "has no sizes in the operator book")
