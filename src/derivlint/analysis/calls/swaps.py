"""Two arguments of a call whose exchange makes a wrong formula right, by values.

Every pair of arguments of every call in a formula that contradicts its operator is exchanged, and what compiles is
compared with the operator as the formula was.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice

from msgspec.structs import replace

from derivlint.analysis.calls.argument_order import ArgumentMismatch, MismatchKind
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts
from derivlint.analysis.scalar_evaluation.compare import compared
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.reference import reference_of
from derivlint.analysis.small_tensors.compare import is_confirmed, small_tensors_of, wrong_values
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import BOOL, DOUBLE
from derivlint.cpp.expressions.operators import WHOLE_NUMBERS
from derivlint.formula import Binary, Call, Name, Number, String, walk
from derivlint.model import Differentiability, Entry, Model
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.scope import CPP_WORDS
from derivlint.operators.special import WHERE

#: Exchanges are tried until so many nodes of formulas have been evaluated: the longer a formula, the fewer.
MOST_NODES = 900
#: The pairs of longer argument lists are too many.
LONGEST = 24


def swaps_of(model: Model, entry: Entry) -> tuple[ArgumentMismatch, ...]:
    """The exchanged arguments that make formulas of an entry wrong, at most one pair of each formula."""
    return model.ask(_swaps, model, entry)


def _swaps(model: Model, entry: Entry) -> tuple[ArgumentMismatch, ...]:
    analyses = analyses_of(model)
    by_element = dict.fromkeys((item.formula for item in judgement_of(model, entry).wrong), False)
    refuted = by_element | dict.fromkeys((item.formula for item in small_tensors_of(model, entry)), True)
    causes = (_cause(analyses, formula, small) for formula, small in refuted.items() if formula.written.auto is None)
    return tuple(item for item in causes if item is not None)


def _cause(analyses: FormulaAnalyses, formula: TypedFormula, small: bool) -> ArgumentMismatch | None:
    differentiability = analyses.model.canonical_differentiability(formula.written.body)
    if differentiability is None:
        return None
    for call, first, second in islice(_pairs(formula), MOST_NODES // len(formula.nodes)):
        candidate = _exchanged(analyses.model, formula, first, second)
        if candidate is not None and _is_right(analyses, formula, candidate, differentiability, small):
            names = (formula.source_of(first.node), formula.source_of(second.node))
            return ArgumentMismatch(MismatchKind.SWAPPED, formula, call, (first, second), names)
    return None


def _pairs(formula: TypedFormula) -> Iterator[tuple[CallFacts, CallArgument, CallArgument]]:
    for node in formula.nodes:
        call = formula.call(node) if isinstance(node, Call) else None
        if call is None:
            continue
        condition = walk(call.arguments[0].node) if call.name == WHERE else ()
        if sum(isinstance(part, Binary) and part.op in ("<", ">", "<=", ">=") for part in condition) > 1:
            # the branches of a flipped condition change places, those of one of two conditions do not
            continue
        arguments = [item for item in call.arguments if not call.is_method or isinstance(item.node, Name)]
        for first, second in combinations(arguments, 2) if len(arguments) <= LONGEST else ():
            # two constants prove nothing: one of them may be any number
            if all(_is_literal(item) or _is_in_place(item) for item in (first, second)):
                continue
            if not (_fits(formula, first, second) and _fits(formula, second, first)):
                continue
            if formula.source_of(first.node) == formula.source_of(second.node) or _are_outputs(formula, first, second):
                continue
            yield call, first, second


def _are_outputs(formula: TypedFormula, first: CallArgument, second: CallArgument) -> bool:
    """Whether two arguments are outputs in their order, as helpers take them."""
    function = formula.written.entry.function
    names = [output.name for output in function.outputs] if function is not None else []
    passed = [formula.source_of(argument.node) for argument in (first, second)]
    return all(name in names for name in passed) and names.index(passed[0]) < names.index(passed[1])


def _is_in_place(argument: CallArgument) -> bool:
    """Whether an argument contains the variable that has its parameter's name: ``!training``, ``{dim + 1}``."""
    parameter = argument.parameter
    if parameter is None:
        return False
    names = {node.simple for node in walk(argument.node) if isinstance(node, Name)}
    return any(parameter.name + suffix in names for suffix in ("", PRIMAL, TANGENT))


def _fits(formula: TypedFormula, argument: CallArgument, place: CallArgument) -> bool:
    """Whether an argument is of a kind with another parameter; C++ also makes flags and whole numbers of numbers."""
    if place.parameter is None:
        return True
    type, target = formula.type_of(argument.node), place.parameter.type
    if BOOL in (type, target):
        return type is target
    return target not in WHOLE_NUMBERS or type is not DOUBLE


def _is_literal(argument: CallArgument) -> bool:
    node = argument.node
    return isinstance(node, (Number, String)) or (isinstance(node, Name) and node.simple in CPP_WORDS)


def _exchanged(model: Model, formula: TypedFormula, first: CallArgument, second: CallArgument) -> TypedFormula | None:
    """The formula with two arguments exchanged, or None if it does not compile."""
    text, earlier, later = formula.text, first.node, second.node
    parts = (
        text[: earlier.start],
        text[later.start : later.end],
        text[earlier.end : later.start],
        text[earlier.start : earlier.end],
    )
    evaluation = replace(formula.evaluation, text="".join((*parts, text[later.end :])), edits=None)
    typed = model.typing.typed(evaluation, evaluation.text)
    if typed is None or typed.typer.problems:
        return None
    return TypedFormula(evaluation, typed.formula, typed.tree, typed.typer.found, typed.typer.callees)


def _is_right(
    analyses: FormulaAnalyses,
    formula: TypedFormula,
    candidate: TypedFormula,
    differentiability: Differentiability,
    small: bool,
) -> bool:
    """Whether another form of a formula is compared with the operator wherever the formula is, and agrees with it.

    Args:
        analyses: the formulas of the file.
        formula: the formula that contradicts the operator.
        candidate: its other form.
        differentiability: the operator.
        small: whether only small tensors show that the formula is wrong.
    """
    if analyses.interpretation(candidate).culprits:
        return False
    if small:
        return is_confirmed(differentiability, candidate)
    reference = reference_of(differentiability.function)
    checks = compared(analyses, (formula, candidate), differentiability, reference) if reference is not None else ()
    if len(checks) < 2 or not checks[1].compared or checks[1].witnesses or checks[1].doubts > checks[0].doubts:
        return False
    return not any(True for _ in wrong_values(differentiability, (candidate,), ()))
