"""Two arguments of a call whose exchange makes a wrong formula right: the values decide, whatever is called.

Every pair of arguments of every call in a formula that contradicts its operator is exchanged, and what compiles is
compared with the operator as the formula was.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

from msgspec.structs import replace

from derivlint.analysis.calls.argument_order import Passed, PassedWrongly, variable_of
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts
from derivlint.analysis.scalar_evaluation.compare import compared
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.truth import truth_of
from derivlint.analysis.small_tensors.compare import compared_formulas, wrong_values
from derivlint.analysis.small_tensors.judgement import small_tensors_of
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Call, Name, Number, String
from derivlint.model import Differentiability, Entry, Model
from derivlint.model.scope import CPP_WORDS

#: Exchanges are tried until so many nodes of formulas have been evaluated: the longer a formula, the fewer.
MOST_NODES = 900
#: The pairs of longer argument lists are too many.
LONGEST = 24


def swaps_of(model: Model, entry: Entry) -> tuple[PassedWrongly, ...]:
    """The exchanged arguments that make formulas of an entry wrong, at most one pair of each formula."""
    return model.ask(_swaps, model, entry)


def _swaps(model: Model, entry: Entry) -> tuple[PassedWrongly, ...]:
    analyses = analyses_of(model)
    by_element = (item.formula for item in judgement_of(model, entry).wrong)
    refuted = dict.fromkeys((*by_element, *(item.formula for item in small_tensors_of(model, entry))))
    found = (_cause(analyses, formula) for formula in refuted if formula.written.auto is None)
    return tuple(item for item in found if item is not None)


def _cause(analyses: FormulaAnalyses, formula: TypedFormula) -> PassedWrongly | None:
    differentiability = analyses.model.canonical_differentiability(formula.written.body)
    if differentiability is None:
        return None
    for call, first, second in islice(_pairs(formula), MOST_NODES // len(formula.nodes)):
        candidate = _exchanged(analyses.model, formula, first, second)
        if candidate is not None and _is_right(analyses, candidate, differentiability):
            names = (formula.source_of(first.node), formula.source_of(second.node))
            return PassedWrongly(Passed.SWAPPED, formula, call, (first, second), names)
    return None


def _pairs(formula: TypedFormula) -> Iterator[tuple[CallFacts, CallArgument, CallArgument]]:
    for node in formula.nodes:
        call = formula.call(node) if isinstance(node, Call) else None
        if call is None:
            continue
        arguments = [item for item in call.arguments if not call.is_method or isinstance(item.node, Name)]
        for first, second in combinations(arguments, 2) if len(arguments) <= LONGEST else ():
            # two constants tell nothing: one of them may be any number
            if (_is_literal(first) and _is_literal(second)) or (_is_in_place(first) and _is_in_place(second)):
                continue
            if formula.source_of(first.node) != formula.source_of(second.node):
                yield call, first, second


def _is_in_place(argument: CallArgument) -> bool:
    """Whether an argument is passed for the parameter of its own name."""
    return argument.parameter is not None and variable_of(argument.node) == argument.parameter.name


def _is_literal(argument: CallArgument) -> bool:
    node = argument.node
    return isinstance(node, (Number, String)) or (isinstance(node, Name) and node.simple in CPP_WORDS)


def _exchanged(model: Model, formula: TypedFormula, first: CallArgument, second: CallArgument) -> TypedFormula | None:
    """The formula with two arguments exchanged; None where it does not compile."""
    text, one, other = formula.text, first.node, second.node
    parts = (text[: one.start], text[other.start : other.end], text[one.end : other.start], text[one.start : one.end])
    evaluation = replace(formula.evaluation, text="".join((*parts, text[other.end :])), edits=None)
    typed = model.typing.typed(evaluation, evaluation.text)
    if typed is None or typed.typer.problems:
        return None
    return TypedFormula(evaluation, typed.formula, typed.tree, typed.typer.found, typed.typer.callees)


def _is_right(analyses: FormulaAnalyses, candidate: TypedFormula, differentiability: Differentiability) -> bool:
    """Whether a formula is compared with its operator, and agrees with it wherever it is."""
    truth = truth_of(differentiability.function)
    trials = compared(analyses, (candidate,), differentiability, truth) if truth is not None else ()
    is_compared = any(trial.compared for trial in trials) or compared_formulas(differentiability, (candidate,))
    return bool(is_compared) and not (
        any(trial.witnesses for trial in trials) or any(True for _ in wrong_values(differentiability, (candidate,), ()))
    )
