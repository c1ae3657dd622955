"""The depth of analysis that rules need, and that the formulas of an entry allow.

A rule does not judge an entry whose schema is unknown, whose formula does not parse, or whose types are unknown, if it
needs them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from derivlint.model import Entry, Model


class AnalysisDepth(IntEnum):
    """Levels of analysis; each includes the levels before."""

    #: none: the operator or the form of the entry is unknown
    NOTHING = 0
    #: keys, names and syntax trees of an entry with a known operator
    FORM = 1
    #: the C++ types of all expressions
    TYPES = 2
    #: how expressions depend on gradients and tangents
    SEMANTICS = 3
    #: the values of formulas and of the operator
    VALUES = 4


def depth_at(model: Model, index: int) -> AnalysisDepth:
    """The depth to which an entry's formulas can be analyzed."""
    try:
        return AnalysisDepth(model.entry_fact(_depth, index))
    except Exception:
        # rules that need the same facts crashed too, and were reported
        return AnalysisDepth.NOTHING


def _depth(model: Model, entry: Entry) -> int:
    from derivlint.analysis import analyses_of
    from derivlint.analysis.interpretation.degree import Degree
    from derivlint.analysis.scalar_evaluation.evaluate import compile_formula
    from derivlint.analysis.scalar_evaluation.reference import reference_of
    from derivlint.cpp.cpp_type import UNKNOWN_VALUE
    from derivlint.model.entry import Role

    if entry.function is None or entry.problems:
        return AnalysisDepth.NOTHING
    for formula in entry.formulas:
        if formula.role is Role.UNRESOLVED or formula.text is None:
            return AnalysisDepth.NOTHING
        if formula.is_expression and formula.parsed.tree is None:
            return AnalysisDepth.NOTHING
    analyses = analyses_of(model)
    formulas = analyses.formulas(entry)
    typed = {id(formula.written) for formula in formulas}
    expected = [written for written in entry.formulas if written.role is not Role.NON_DIFFERENTIABLE]
    # the C++ of older releases is unknown
    if not model.natives.has_symbolic_sizes or any(id(written) not in typed for written in expected):
        return AnalysisDepth.FORM
    if any(value.type == UNKNOWN_VALUE.type for formula in formulas for value in formula.values.values()):
        return AnalysisDepth.FORM
    interpretations = analyses.interpretations(entry)
    if any(fact.degree is Degree.UNKNOWN for item in interpretations for fact in item.facts.values()):
        return AnalysisDepth.TYPES
    if reference_of(entry.function.canonical) is None:
        return AnalysisDepth.SEMANTICS
    if any(formula.written.auto is None and compile_formula(formula) is None for formula in formulas):
        return AnalysisDepth.SEMANTICS
    return AnalysisDepth.VALUES
