"""Formulas that are infinite or NaN where the operator has a derivative.

A formula that divides by a zero argument or takes its logarithm often has no value although the operator is smooth
there, such as ``sinc`` at 0; one that takes the square root of any argument has none for negative ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.compare import FormulaCheck, Point, point_at, shown
from derivlint.analysis.scalar_evaluation.points import POINTS, NumberKind, point_arguments
from derivlint.analysis.scalar_evaluation.reference import ReferenceOperator
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, Values, signature_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability


class Pole(Struct, frozen=True):
    """A point at which a formula has no finite value although the operator has a derivative.

    Attributes:
        formula: the formula.
        name: the argument whose gradient, or the output whose tangent is not finite.
        at: arguments, and the gradients or tangents.
        expected: the derivative.
        actual: the value of the formula.
    """

    formula: TypedFormula
    name: str
    at: tuple[tuple[str, Value], ...]
    expected: Value
    actual: Value


def poles(
    differentiability: Differentiability, reference: ReferenceOperator, checks: Sequence[FormulaCheck]
) -> Iterator[Pole]:
    """The formulas with a pole, each once.

    Args:
        differentiability: the operator.
        reference: its reference.
        checks: its formulas, which are right at ordinary points.
    """
    signature = signature_of(differentiability)
    used = signature.used(check.formula for check in checks)
    active = list(checks)
    schema = differentiability.function.schema
    numbers = [argument.name for argument in schema.arguments.flat_non_out if not argument.type.is_tensor_like]
    points = point_arguments(differentiability)
    places = _with_zeros(points.at(NumberKind.REAL, 0), signature, numbers)
    # at ordinary points most formulas are known to be finite: "log(self)" in place of "log(abs(self))" is not
    if any(check.infinite for check in checks):
        places = chain((points.at(NumberKind.REAL, number) for number in range(POINTS)), places)
    for arguments in places:
        point = point_at(reference, signature, arguments, 0, used)
        if point is None:
            continue
        by_formula = {check.formula: pole for check in active if (pole := _pole(check, point)) is not None}
        yield from by_formula.values()
        active = [check for check in active if check.formula not in by_formula]


def _with_zeros(
    arguments: Mapping[str, Value], signature: EvaluationSignature, numbers: Sequence[str]
) -> Iterator[Values]:
    """The arguments with one differentiable argument zero, with all zero, and with one and a number zero."""
    tensors = [name for name in signature.inputs if type(arguments.get(name)) is float]
    numbers = [name for name in numbers if type(arguments.get(name)) is float]
    choices: list[tuple[str, ...]] = [(name,) for name in tensors]
    if len(tensors) > 1:
        choices.append(tuple(tensors))
    choices += [(tensor, number) for tensor in tensors for number in numbers]
    for names in choices:
        yield {**arguments, **dict.fromkeys(names, 0.0)}


def _pole(check: FormulaCheck, point: Point) -> Pole | None:
    try:
        seeds = point.seeds_for(check.formula)
        result = check.evaluate(point.variables(check.formula, seeds))
    except UnknownValueError:
        return None
    values = result if isinstance(result, tuple) else (result,)
    right_value = point.gradient if check.formula.is_backward else point.tangent
    judged = point.signature.inputs if check.formula.is_backward else point.signature.differentiable
    for name, value in zip(check.names, values, strict=False):
        if type(value) is not float or math.isfinite(value) or name not in judged:
            continue
        try:
            expected = right_value(name, seeds, certain=True)
        except UnknownValueError:
            continue
        moved = (name,) if check.formula.is_backward else tuple(seeds)
        if all(point.reference.is_smooth(point.arguments, argument) for argument in moved):
            return Pole(check.formula, name, shown(check.formula, point, seeds), expected, value)
    return None
