"""Analyses of formulas: abstract interpretation of typed syntax trees, for rules, editor and back ends.

Begin with :func:`analyses_of`, which holds the analyses of one model, each computed on demand, and
:mod:`derivlint.analysis.interpret`, which gives every node a ``Fact``: its degree in gradients or tangents, what it
depends on, what it may alias.

    typed, callee        formulas with the type of every node; calls with arguments bound to parameters
    linearity            not linear; without gradient                   definedness  undefined gradients and guards
    conjugation          holomorphic, conjugated, mixed                 aliasing     tangents, in-place methods
    automatic            auto_linear, auto_element_wise                 outputs      integral and boolean outputs
    argument_order, dropping    swapped and omitted arguments                  missing      gradients, tangents, casts
    arguments            arguments without derivative                   key_order    names against returned gradients
    siblings, dispatch   related operators; dispatch keys               premises     what auto_linear entries imply
    scalar_evaluation          scalar evaluation: formulas on tensors with one element, compared with the operator
    small_tensors        formulas on small tensors, where dimensions, masks or indices matter
    shapes               formulas on sizes alone
    differentiability    whether a formula can be differentiated again: coverage
    judged               what can be judged of each formula: ``coverage --judged``

What is unknown stays unknown and is not reported. Helpers are judged by their definitions, or else assumed to be linear
in the parameters that are named like gradients or tangents.
"""

from derivlint.analysis.formula_analyses import FormulaAnalyses, analyses_of
from derivlint.analysis.typed import TypedFormula

__all__ = ["FormulaAnalyses", "TypedFormula", "analyses_of"]
