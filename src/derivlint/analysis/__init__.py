"""Analyses of formulas: abstract interpretation of typed syntax trees, for rules, editor and back ends.

* typed formula (``typed``): a formula of an entry with the type of every node, and its seeds.
* seed (``typed``): an output gradient or tangent, in which a formula must be linear.
* fact, degree (``interpretation``): the dependences of every node, and its linearity in the seeds.
* reference (``scalar_evaluation``): the operator's own value and derivatives, with which formulas are compared.
* judgement (``scalar_evaluation``, ``shapes``, ``small_tensors``, ``half_precision``): the wrong formulas of an entry.
* analyses (``formula_analyses``): the analyses of one model, each computed on demand; begin with ``analyses_of``.

The other modules:

    dependence           linear, conjugated, aliased, undefined or missing gradients and tangents; automatic formulas
    calls                swapped, omitted and misplaced arguments; names against returned gradients; casts
    python               formulas written in Python, translated to C++
    soundness            certain mistakes of an entry, to try fixes
    differentiability    whether a formula can be differentiated again: coverage
    outputs, integral    integral and boolean outputs
    siblings, dispatch   related operators; dispatch keys
    judged               properties of formulas that are checked: ``coverage --judged``
    formula_compiler     the base of the evaluators of formulas
    analyses             the analyses that most rules read, precomputed for many entries

Their order: types, interpretation, shapes, scalar evaluation; small tensors and half precision come last and skip
formulas that an earlier analysis refutes. Unknown values propagate and are not reported. Helpers are analyzed by their
definitions, or else assumed to be linear in the parameters named like gradients or tangents.
"""

from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.typed import TypedFormula

__all__ = ["FormulaAnalyses", "TypedFormula", "analyses_of"]
