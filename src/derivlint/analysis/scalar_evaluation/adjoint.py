"""Comparison of backward with forward formulas, for operators without a reference.

The vector-Jacobian product of the backward formula and the Jacobian-vector product of the forward formula have the same
Jacobian: Re(conj(g) jvp(t)) = Re(conj(vjp(g)) t) for all g and t.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.scalar_evaluation.compare import (
    WITNESSES,
    Disagreement,
    FormulaCheck,
    differ,
    formula_checks,
    linear_value,
)
from derivlint.analysis.scalar_evaluation.points import POINTS, NumberKind, arguments_at, seed_value
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, signature_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value
from derivlint.model import Differentiability, DispatchBody
from derivlint.schema import NativeFunction


def contradictions(
    analyses: FormulaAnalyses, body: DispatchBody, differentiability: Differentiability
) -> Iterator[Disagreement]:
    """Find the forward formulas that contradict a backward formula.

    Only for operators with one output; formulas that use it are skipped, since its value is unknown.
    """
    signature = signature_of(differentiability)
    if len(signature.outputs) != 1 or signature.is_inplace:
        return
    formulas = analyses.formulas_of(body)
    forward = next((formula for formula in formulas if not formula.is_backward), None)
    if forward is None or forward.written.auto is not None or not forward.variables.isdisjoint(signature.outputs):
        return
    backward = [item for item in formulas if item.is_backward and item.variables.isdisjoint(signature.outputs)]
    tangents = formula_checks((forward,))
    for check in formula_checks(backward) if tangents else ():
        for name in check.names:
            if name in signature.inputs:
                witnesses = list(_witnesses(differentiability.function, signature, check, tangents[0], name))
                if len(witnesses) >= WITNESSES:
                    yield witnesses[0]
                    return


def _witnesses(
    function: NativeFunction, signature: EvaluationSignature, backward: FormulaCheck, forward: FormulaCheck, name: str
) -> Iterator[Disagreement]:
    unknown = 0
    for number in range(POINTS):
        if unknown > 1:
            return
        arguments = arguments_at(function, signature.inputs, NumberKind.REAL, number)
        try:
            slopes = _slopes(arguments, signature, backward, forward, name, number)
        except UnknownValueError:
            unknown += 1
            continue
        if differ(*slopes):
            at = tuple((item, arguments[item]) for item in signature.inputs)
            yield Disagreement(forward.formula, name, at, slopes[0], slopes[1], backward.formula)


def _slopes(
    arguments: Mapping[str, Value],
    signature: EvaluationSignature,
    backward: FormulaCheck,
    forward: FormulaCheck,
    name: str,
    number: int,
) -> tuple[Value, Value]:
    """The derivative by one argument, from the backward formula and from the forward formula."""
    output = signature.outputs[0]
    gradient = seed_value(number, 0, is_complex=False)
    environments = [signature.backward(arguments, {}, {output: factor * gradient}) for factor in (1, -2)]
    vjp = linear_value(backward, environments[0], environments[1])[backward.names.index(name)]
    tangents = dict.fromkeys(signature.inputs, 0.0)
    tangent = seed_value(number, 1, is_complex=False)
    environments = [signature.forward(arguments, {}, {**tangents, name: factor * tangent}) for factor in (1, -2)]
    jvp = linear_value(forward, environments[0], environments[1])[0]
    if vjp is None or jvp is None:
        raise UnknownValueError
    return vjp / gradient, jvp / tangent
