"""Swapped arguments: pairs in a call whose exchange makes a wrong formula right, judging by values.

If a formula contradicts its operator, each pair of arguments of each call is exchanged in turn; results that compile
are compared with the operator. If a changed sign makes the formula right too, the intention is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, islice

from msgspec.structs import replace

from derivlint.analysis.calls.argument_order import ArgumentMismatch, MismatchKind
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.interpretation.callee import CallArgument, CallFacts, role_of
from derivlint.analysis.interpretation.facts import NOTHING, Fact
from derivlint.analysis.scalar_evaluation.compare import compared
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.reference import reference_of
from derivlint.analysis.small_tensors.compare import is_confirmed, small_tensors_of, wrong_values
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.cpp_type import BOOL, DOUBLE
from derivlint.cpp.expressions.operators import WHOLE_NUMBERS
from derivlint.formula import Binary, Call, Expr, Name, Number, String, Unary, walk
from derivlint.model import Differentiability, Entry, Model
from derivlint.model.generated.forward import PRIMAL, TANGENT
from derivlint.model.scope import CPP_WORDS
from derivlint.operators.special import WHERE

#: The maximum number of nodes to evaluate in total: fewer exchanges are tried in longer formulas.
MOST_NODES = 900
#: The maximum number of arguments of a call.
LONGEST = 24


def swaps_of(model: Model, entry: Entry) -> tuple[ArgumentMismatch, ...]:
    """The swapped arguments that make formulas of an entry wrong, at most one pair for each formula."""
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
    n_trials = MOST_NODES // len(formula.nodes)

    def is_right(text: str) -> bool:
        candidate = _compiled(analyses.model, formula, text)
        return candidate is not None and _is_right(analyses, formula, candidate, differentiability, small)

    for call, first, second in islice(_pairs(analyses, formula), n_trials):
        if is_right(_exchanged(formula, first, second)):
            if any(map(is_right, islice(_with_other_sign(formula), n_trials))):
                return None
            names = (formula.source_of(first.node), formula.source_of(second.node))
            return ArgumentMismatch(MismatchKind.SWAPPED, formula, call, (first, second), names)
    return None


def _pairs(analyses: FormulaAnalyses, formula: TypedFormula) -> Iterator[tuple[CallFacts, CallArgument, CallArgument]]:
    facts = analyses.interpretation(formula).facts
    for node in formula.nodes:
        call = formula.call(node) if isinstance(node, Call) else None
        if call is None:
            continue
        condition = walk(call.arguments[0].node) if call.name == WHERE else ()
        if sum(isinstance(part, Binary) and part.op in ("<", ">", "<=", ">=") for part in condition) > 1:
            # exchanged branches are a negated condition; with two conditions, it is unknown which
            continue
        arguments = [
            item
            for item in call.arguments
            if (not call.is_method or isinstance(item.node, Name)) and not _is_seed_in_place(item, facts)
        ]
        for first, second in combinations(arguments, 2) if len(arguments) <= LONGEST else ():
            # constants prove nothing: one of them may have any value
            if all(_is_literal(item) or _is_in_place(item) for item in (first, second)):
                continue
            if not (_fits(formula, first, second) and _fits(formula, second, first)):
                continue
            if formula.source_of(first.node) == formula.source_of(second.node) or _are_outputs(formula, first, second):
                continue
            yield call, first, second


def _is_seed_in_place(argument: CallArgument, facts: Mapping[Expr, Fact]) -> bool:
    """Whether a gradient or tangent is passed for the parameter with its name."""
    parameter = argument.parameter
    return parameter is not None and role_of(parameter).is_seed and bool(facts.get(argument.node, NOTHING).seeds)


def _are_outputs(formula: TypedFormula, first: CallArgument, second: CallArgument) -> bool:
    """Whether two arguments are outputs in order, as helpers take them."""
    function = formula.written.entry.function
    names = [output.name for output in function.outputs] if function is not None else []
    passed = [formula.source_of(argument.node) for argument in (first, second)]
    return all(name in names for name in passed) and names.index(passed[0]) < names.index(passed[1])


def _is_in_place(argument: CallArgument) -> bool:
    """Whether an argument contains the variable with its parameter's name: ``!training``, ``{dim + 1}``."""
    parameter = argument.parameter
    if parameter is None:
        return False
    names = {node.simple for node in walk(argument.node) if isinstance(node, Name)}
    return any(parameter.name + suffix in names for suffix in ("", PRIMAL, TANGENT))


def _fits(formula: TypedFormula, argument: CallArgument, place: CallArgument) -> bool:
    """Whether an argument has the type of another parameter; C++ also converts numbers to flags and integers."""
    if place.parameter is None:
        return True
    type, target = formula.type_of(argument.node), place.parameter.type
    if BOOL in (type, target):
        return type is target
    return target not in WHOLE_NUMBERS or type is not DOUBLE


def _is_literal(argument: CallArgument) -> bool:
    node = argument.node
    return isinstance(node, (Number, String)) or (isinstance(node, Name) and node.simple in CPP_WORDS)


def _exchanged(formula: TypedFormula, first: CallArgument, second: CallArgument) -> str:
    """The text of the formula with two arguments exchanged."""
    text, earlier, later = formula.text, first.node, second.node
    parts = (
        text[: earlier.start],
        text[later.start : later.end],
        text[earlier.end : later.start],
        text[earlier.start : earlier.end],
    )
    return "".join((*parts, text[later.end :]))


def _with_other_sign(formula: TypedFormula) -> Iterator[str]:
    """The variants of a formula with one sign removed, or one sum and difference exchanged."""
    text = formula.text
    for node in formula.nodes:
        if isinstance(node, Unary) and node.op == "-":
            yield f"{text[: node.start]}{text[node.operand.start :]}"
        elif isinstance(node, Binary) and node.op in ("+", "-"):
            start = node.op_start
            yield f"{text[:start]}{'-' if node.op == '+' else '+'}{text[start + 1 :]}"


def _compiled(model: Model, formula: TypedFormula, text: str) -> TypedFormula | None:
    """Type another text in place of the formula; None if it does not compile."""
    evaluation = replace(formula.evaluation, text=text, edits=None)
    typed = model.typing.typed(evaluation, evaluation.text)
    if typed is None or typed.typer.problems:
        return None
    return TypedFormula.of(evaluation, typed, formula.namespace)


def _is_right(
    analyses: FormulaAnalyses,
    formula: TypedFormula,
    candidate: TypedFormula,
    differentiability: Differentiability,
    small: bool,
) -> bool:
    """Whether a variant of a formula agrees with the operator at the same points.

    Args:
        analyses: the formulas of the file.
        formula: the formula that contradicts the operator.
        candidate: the variant.
        differentiability: the operator.
        small: whether the formula is wrong on small tensors only.
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
