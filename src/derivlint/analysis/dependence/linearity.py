"""Formulas that are not linear in their gradients or tangents."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.dispatch import is_for_tests
from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.interpretation.callee import callee_name
from derivlint.analysis.interpretation.degree import Degree
from derivlint.analysis.interpretation.facts import Cause, Culprit, Fact
from derivlint.analysis.interpretation.interpret import Interpretation
from derivlint.formula import Call, Expr
from derivlint.model import Entry

TUPLES = ("make_tuple", "tuple")
AFFINE = (Cause.CONSTANT_TERM, Cause.CONSTANT_BRANCH)


class NotLinear(Struct, frozen=True):
    """A formula that is not linear.

    Attributes:
        interpretation: the formula.
        culprit: the innermost part that is not linear.
    """

    interpretation: Interpretation
    culprit: Culprit


def not_linear(analyses: FormulaAnalyses, entry: Entry, *, backward: bool) -> Iterator[NotLinear]:
    """The nonlinear backward or forward formulas of an entry, each with its first cause."""
    if is_for_tests(entry):
        return
    for interpretation in analyses.interpretations(entry):
        formula = interpretation.formula
        if formula.is_backward is not backward or not interpretation.culprits:
            continue
        culprits = interpretation.culprits
        # parts that are not even affine take precedence
        worst = next((culprit for culprit in culprits if culprit.cause not in AFFINE), culprits[0])
        yield NotLinear(interpretation, worst)


def without_seed(analyses: FormulaAnalyses, entry: Entry, *, backward: bool) -> Iterator[tuple[Interpretation, Expr]]:
    """Yield the nonzero formulas of an entry that certainly depend on no gradient or tangent.

    Each gradient in a list for several arguments is checked.
    """
    if entry.function is None or not entry.function.canonical.schema.returns:
        return
    for interpretation in analyses.interpretations(entry):
        formula = interpretation.formula
        if formula.is_backward is backward:
            for node in _results(interpretation.formula.tree):
                if interpretation.facts.get(node, Fact()).degree is Degree.CONSTANT:
                    yield interpretation, node


def _results(tree: Expr) -> tuple[Expr, ...]:
    """The gradients listed in a formula, or the whole formula."""
    if isinstance(tree, Call) and callee_name(tree) in TUPLES:
        return tree.args or (tree,)
    return (tree,)
