"""Coverage of the checks: which properties of formulas are checked, and why others are not.

There are four properties: values (compared with the operator on one-element or small tensors), linearity in the seeds,
conjugation, and sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from enum import Enum

from msgspec import Struct

from derivlint.analysis.dependence import conjugation
from derivlint.analysis.differentiability.operators import is_refusal
from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.analysis.scalar_evaluation.compare import compared
from derivlint.analysis.scalar_evaluation.domain import implementation_named
from derivlint.analysis.scalar_evaluation.evaluate import is_understood
from derivlint.analysis.scalar_evaluation.points import NumberKind
from derivlint.analysis.scalar_evaluation.reference import reference_of
from derivlint.analysis.shapes.compare import why_unsized
from derivlint.analysis.small_tensors.compare import compared_formulas
from derivlint.analysis.typed import TypedFormula
from derivlint.cpp.operator_signatures import without_symint
from derivlint.formula import Call
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model
from derivlint.operators.reference.definitions import reasons


class Question(Enum):
    """The checkable properties of formulas."""

    VALUE = "value"
    LINEAR = "linear"
    COMPLEX = "complex"
    SHAPES = "shapes"


class JudgedFormula(Struct, frozen=True):
    """The checked properties of a formula.

    Attributes:
        written: the formula.
        missing: the reasons why properties are not checked, by property.
        not_asked: the properties that do not apply.
        points: the number of one-element points of each kind at which its value is compared.
        n_tensors: the number of small-tensor points at which its value is compared.
    """

    written: DerivativeFormula
    missing: dict[Question, str]
    not_asked: frozenset[Question] = frozenset()
    points: Mapping[NumberKind, int] = {}
    n_tensors: int = 0

    def is_judged(self, question: Question) -> bool:
        """Whether a property is checked."""
        return question not in self.missing and question not in self.not_asked


class JudgedEntry(Struct, frozen=True):
    """The checked properties of an entry's formulas.

    Attributes:
        entry: the entry.
        formulas: its backward and forward formulas.
    """

    entry: Entry
    formulas: tuple[JudgedFormula, ...]

    def missing(self, question: Question) -> tuple[str, ...]:
        """The distinct reasons why a property is not checked."""
        reasons = (formula.missing[question] for formula in self.formulas if question in formula.missing)
        return tuple(dict.fromkeys(reasons))

    def is_asked(self, question: Question) -> bool:
        """Whether a property applies to any of the formulas."""
        return any(question not in formula.not_asked for formula in self.formulas)


def judged_entries(model: Model) -> Iterator[JudgedEntry]:
    """The entries with a formula that has checkable properties, in file order."""
    for entry in model.entries:
        if entry.function is not None:
            formulas = tuple(formula for body in entry.bodies for formula in judged_formulas(model, body))
            if any(len(formula.not_asked) < len(Question) for formula in formulas):
                yield JudgedEntry(entry, formulas)


def totals(rows: Collection[JudgedEntry]) -> dict[Question, tuple[int, int]]:
    """Count the entries with a checked property, and those to which it applies."""
    applicable = {question: [row for row in rows if row.is_asked(question)] for question in Question}
    return {key: (sum(not row.missing(key) for row in of_key), len(of_key)) for key, of_key in applicable.items()}


def judged_formulas(model: Model, body: DispatchBody) -> Iterator[JudgedFormula]:
    """The formulas of a dispatch key with their checked properties."""
    analyses = analyses_of(model)
    compared_at = _compared_at(analyses, body)
    differentiability = analyses.model.canonical_differentiability(body)
    formulas = analyses.formulas_of(body)
    on_small_tensors = compared_formulas(differentiability, formulas) if differentiability is not None else Counter()
    for formula in formulas:
        missing = {}
        if formula.written.auto is not None or is_refusal(formula.tree):
            # derived from the backward formulas, or without expression
            yield JudgedFormula(formula.written, {}, frozenset(Question))
            continue
        kinds = compared_at.get(formula, Counter())
        if not kinds and formula not in on_small_tensors:
            missing[Question.VALUE] = _why_not_compared(analyses, body, formula)
        interpretation = analyses.interpretation(formula)
        if reason := _unknown_degree(interpretation):
            missing[Question.LINEAR] = reason
        if reason := why_unsized(analyses, body, formula):
            missing[Question.SHAPES] = reason
        not_asked: frozenset[Question] = frozenset()
        if not conjugation.is_judged(interpretation):
            not_asked = frozenset({Question.COMPLEX})
        elif NumberKind.COMPLEX not in kinds and (name := conjugation.unknown_callee(interpretation)) is not None:
            missing[Question.COMPLEX] = f'nothing is known about "{name}"' if name else "it is not understood"
        yield JudgedFormula(formula.written, missing, not_asked, kinds, on_small_tensors[formula])


def _compared_at(analyses: FormulaAnalyses, body: DispatchBody) -> dict[TypedFormula, Counter[NumberKind]]:
    """The formulas whose values are compared with the operator's, with the kinds of numbers."""
    differentiability = analyses.model.canonical_differentiability(body)
    reference = None if differentiability is None else reference_of(differentiability.function)
    if differentiability is None or reference is None:
        return {}
    return {
        check.formula: check.compared
        for check in compared(analyses, analyses.formulas_of(body), differentiability, reference)
    }


def _why_not_compared(analyses: FormulaAnalyses, body: DispatchBody, formula: TypedFormula) -> str:
    differentiability = analyses.model.canonical_differentiability(body)
    if differentiability is None:
        return "the operator is not known"
    base = differentiability.function.name.base
    if base in reasons():
        return f'"{base}" {reasons()[base]}'
    if reference_of(differentiability.function) is None:
        return f'"{base}" has no reference definition'
    for node in formula.nodes:
        call = formula.call(node) if isinstance(node, Call) else None
        if call is not None and not is_understood(call.node, formula):
            if implementation_named(call.name) is None:
                return f'"{call.spelling}" has no reference definition'
            return f'"{call.spelling}" is called in a way that its reference definition does not have'
    return "it has no value for tensors of one element"


def _unknown_degree(interpretation: Interpretation) -> str:
    """The reason why the degree of a formula is unknown, or an empty string."""
    if interpretation.root.degree is not Degree.UNKNOWN:
        return ""
    unknown = {node for node, fact in interpretation.facts.items() if fact.degree is Degree.UNKNOWN}
    for call in interpretation.calls:
        if call.node in unknown and (name := without_symint(call.spelling)) in reasons():
            return f'"{name}" {reasons()[name]}'
        if call.node in unknown and not any(argument.node in unknown for argument in call.arguments):
            return f'nothing is known about "{call.spelling}"'
    return "it is not understood"
