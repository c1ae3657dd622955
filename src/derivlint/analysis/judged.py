"""What the checks can judge of each formula, and what they lack to judge the rest.

Four things are asked of a formula: whether its value is compared with what the operator computes, on single elements or
on small tensors, whether it is known to be linear in the gradients or tangents, whether its conjugation is followed,
and whether its sizes are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum

from msgspec import Struct

from derivlint.analysis.dependence import conjugation
from derivlint.analysis.differentiability.operators import RAISING_PREFIX
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.scalar_evaluation.compare import compared
from derivlint.analysis.scalar_evaluation.domain import implementation_named
from derivlint.analysis.scalar_evaluation.evaluate import is_understood
from derivlint.analysis.scalar_evaluation.points import NumberKind
from derivlint.analysis.scalar_evaluation.truth import truth_of
from derivlint.analysis.shapes.judgement import why_unsized
from derivlint.analysis.small_tensors.compare import compared_formulas
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.operator_names import without_symint
from derivlint.formula import Call
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model
from derivlint.operators.reference.definitions import reasons
from derivlint.operators.special import RAISING


class Question(Enum):
    """What may be judged of a formula."""

    VALUE = "value"
    LINEAR = "linear"
    COMPLEX = "complex"
    SHAPES = "shapes"


class JudgedFormula(Struct, frozen=True):
    """What is judged of a formula.

    Attributes:
        written: the formula.
        missing: why something is not judged, for each question that has no answer.
        not_asked: the questions that make no sense for it.
    """

    written: DerivativeFormula
    missing: dict[Question, str]
    not_asked: frozenset[Question] = frozenset()

    def is_judged(self, question: Question) -> bool:
        """Whether something is judged."""
        return question not in self.missing and question not in self.not_asked


class JudgedEntry(Struct, frozen=True):
    """What is judged of an entry.

    Attributes:
        entry: the entry.
        formulas: its backward and forward formulas.
    """

    entry: Entry
    formulas: tuple[JudgedFormula, ...]

    def missing(self, question: Question) -> tuple[str, ...]:
        """Why something is not judged, each reason once."""
        reasons = (each.missing[question] for each in self.formulas if question in each.missing)
        return tuple(dict.fromkeys(reasons))

    def is_asked(self, question: Question) -> bool:
        """Whether a question makes sense for any of the formulas."""
        return any(question not in each.not_asked for each in self.formulas)


def judged_entries(model: Model) -> Iterator[JudgedEntry]:
    """What is judged of every entry with a formula to judge, in the order of the file."""
    analyses = analyses_of(model)
    for entry in model.entries:
        if entry.function is not None:
            formulas = tuple(each for body in entry.bodies for each in _of_body(analyses, body))
            if any(len(each.not_asked) < len(Question) for each in formulas):
                yield JudgedEntry(entry, formulas)


def totals(rows: Collection[JudgedEntry]) -> dict[Question, tuple[int, int]]:
    """Of how many entries each question is answered for all formulas, and of how many it is asked."""
    asked = {question: [row for row in rows if row.is_asked(question)] for question in Question}
    return {each: (sum(not row.missing(each) for row in found), len(found)) for each, found in asked.items()}


def _of_body(analyses: FormulaAnalyses, body: DispatchBody) -> Iterator[JudgedFormula]:
    compared_at = _compared_at(analyses, body)
    on_small_tensors = _compared_on_small_tensors(analyses, body)
    for formula in analyses.formulas_of(body):
        missing = {}
        if formula.written.auto is not None or _is_refused(formula):
            # it is made of the backward formulas, or there is none
            yield JudgedFormula(formula.written, {}, frozenset(Question))
            continue
        kinds = compared_at.get(formula, set())
        if not kinds and formula not in on_small_tensors:
            missing[Question.VALUE] = _why_not_compared(analyses, body, formula)
        interpretation = analyses.interpretation(formula)
        lacking = _unknown_degree(interpretation)
        if lacking:
            missing[Question.LINEAR] = lacking
        lacking = why_unsized(analyses, body, formula)
        if lacking:
            missing[Question.SHAPES] = lacking
        not_asked: frozenset[Question] = frozenset()
        if not conjugation.is_judged(interpretation):
            not_asked = frozenset({Question.COMPLEX})
        elif NumberKind.COMPLEX not in kinds and (name := conjugation.unknown_callee(interpretation)) is not None:
            missing[Question.COMPLEX] = f'nothing is known about "{name}"' if name else "it is not understood"
        yield JudgedFormula(formula.written, missing, not_asked)


def _is_refused(formula: TypedFormula) -> bool:
    """Whether a formula only says that there is no derivative."""
    call = formula.call(formula.tree) if isinstance(formula.tree, Call) else None
    return call is not None and (call.name in RAISING or call.name.startswith(RAISING_PREFIX))


def _compared_at(analyses: FormulaAnalyses, body: DispatchBody) -> dict[TypedFormula, set[NumberKind]]:
    """The formulas whose value is compared with the operator's, each with the kinds of numbers."""
    differentiability = analyses.model.canonical_differentiability(body)
    truth = None if differentiability is None else truth_of(differentiability.function)
    if differentiability is None or truth is None:
        return {}
    return {
        trial.formula: trial.compared
        for trial in compared(analyses, analyses.formulas_of(body), differentiability, truth)
    }


def _compared_on_small_tensors(analyses: FormulaAnalyses, body: DispatchBody) -> set[TypedFormula]:
    differentiability = analyses.model.canonical_differentiability(body)
    return set() if differentiability is None else compared_formulas(differentiability, analyses.formulas_of(body))


def _why_not_compared(analyses: FormulaAnalyses, body: DispatchBody, formula: TypedFormula) -> str:
    differentiability = analyses.model.canonical_differentiability(body)
    if differentiability is None:
        return "the operator is not known"
    base = differentiability.function.name.base
    if base in reasons():
        return f'"{base}" {reasons()[base]}'
    if truth_of(differentiability.function) is None:
        return f'"{base}" has no reference definition'
    for node in formula.nodes:
        call = formula.call(node) if isinstance(node, Call) else None
        if call is not None and not is_understood(call.node, formula):
            if implementation_named(call.name) is None:
                return f'"{call.spelling}" has no reference definition'
            return f'"{call.spelling}" is called in a way that its reference definition does not have'
    return "it has no value for tensors of one element"


def _unknown_degree(interpretation: Interpretation) -> str:
    """What keeps the degree of a formula from being known; empty where it is."""
    if interpretation.root.degree is not Degree.UNKNOWN:
        return ""
    unknown = {node for node, fact in interpretation.facts.items() if fact.degree is Degree.UNKNOWN}
    for call in interpretation.calls:
        if call.node in unknown and (name := without_symint(call.spelling)) in reasons():
            return f'"{name}" {reasons()[name]}'
        if call.node in unknown and not any(argument.node in unknown for argument in call.arguments):
            return f'nothing is known about "{call.spelling}"'
    return "it is not understood"
