"""Analyses of formulas: abstract interpretation of typed syntax trees, for rules, editor and back ends.

Begin with :func:`analyses_of`, which holds the analyses of one model, each computed on demand, and
:mod:`derivlint.analysis.interpretation.interpret`, which gives every node a ``Fact``: its degree in gradients or
tangents, what it depends on, what it may alias.

    typed                formulas with the type of every node
    interpretation       abstract interpretation; calls with arguments bound to parameters; what other entries imply
    dependence           linear, conjugated, aliased, undefined or missing gradients and tangents; automatic formulas
    calls                swapped, omitted and misplaced arguments; names against returned gradients; casts
    scalar_evaluation    formulas on tensors with one element, compared with the operator
    small_tensors        formulas on small tensors, where dimensions, masks or indices matter
    shapes               formulas on sizes alone
    half_precision       what formulas lose in half precision
    python               formulas written in Python, and how C++ writes them
    soundness            what is certainly wrong with an entry, to try fixes
    differentiability    whether a formula can be differentiated again: coverage
    outputs, integral    integral and boolean outputs
    siblings, dispatch   related operators; dispatch keys
    judged               what can be judged of each formula: ``coverage --judged``

What is unknown stays unknown and is not reported. Helpers are judged by their definitions, or else assumed to be linear
in the parameters that are named like gradients or tangents.
"""

from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.typed import TypedFormula

__all__ = ["FormulaAnalyses", "TypedFormula", "analyses_of"]
