"""Formulas that are infinite or not a number where the operator has a derivative.

Where an argument is zero, a formula that divides by it, or takes its logarithm, often has no value although the
operator is smooth there: ``sinc`` at 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.compare import Point, Trial, shown
from derivlint.analysis.scalar_evaluation.points import NumberKind, point_arguments
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, Values, signature_of
from derivlint.analysis.scalar_evaluation.truth import Truth
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value, is_finite
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability


class Pole(Struct, frozen=True):
    """A point at which a formula has no finite value although the operator has a derivative.

    Attributes:
        formula: the formula.
        name: the argument whose gradient, or the output whose tangent has none.
        at: arguments, and the gradients or the tangents.
        expected: the derivative.
        found: what the formula gives.
    """

    formula: TypedFormula
    name: str
    at: tuple[tuple[str, Value], ...]
    expected: Value
    found: Value


def poles(differentiability: Differentiability, truth: Truth, trials: Sequence[Trial]) -> Iterator[Pole]:
    """The formulas with a pole, each once.

    Args:
        differentiability: the operator.
        truth: its own value.
        trials: its formulas, which have the right values at ordinary points.
    """
    signature = signature_of(differentiability)
    used = signature.used(trial.formula for trial in trials)
    active = list(trials)
    schema = differentiability.function.schema
    numbers = [each.name for each in schema.arguments.flat_non_out if not each.type.is_tensor_like]
    plain = point_arguments(differentiability).at(NumberKind.REAL, 0)
    for arguments in _with_zeros(plain, signature, numbers):
        try:
            outputs = truth.outputs(arguments)
        except UnknownValueError:
            continue
        if not all(map(is_finite, outputs)):
            continue
        point = Point(truth, signature, arguments, dict(zip(signature.outputs, outputs, strict=False)), 0, used)
        found = {trial.formula: pole for trial in active if (pole := _pole(trial, point)) is not None}
        yield from found.values()
        active = [trial for trial in active if trial.formula not in found]


def _with_zeros(
    arguments: Mapping[str, Value], signature: EvaluationSignature, numbers: Sequence[str]
) -> Iterator[Values]:
    """The same with one differentiable argument zero, with all of them, and with one and a number."""
    tensors = [name for name in signature.inputs if type(arguments.get(name)) is float]
    numbers = [name for name in numbers if type(arguments.get(name)) is float]
    choices: list[tuple[str, ...]] = [(name,) for name in tensors]
    if len(tensors) > 1:
        choices.append(tuple(tensors))
    choices += [(tensor, number) for tensor in tensors for number in numbers]
    for names in choices:
        yield {**arguments, **dict.fromkeys(names, 0.0)}


def _pole(trial: Trial, point: Point) -> Pole | None:
    try:
        directions = point.along(trial.formula)
        found = trial.evaluate(point.variables(trial.formula, directions))
    except UnknownValueError:
        return None
    values = found if isinstance(found, tuple) else (found,)
    right_value = point.gradient if trial.formula.is_backward else point.tangent
    judged = point.signature.inputs if trial.formula.is_backward else point.signature.differentiable
    for name, value in zip(trial.names, values, strict=False):
        if type(value) is not float or math.isfinite(value) or name not in judged:
            continue
        try:
            expected = right_value(name, directions, certain=True)
        except UnknownValueError:
            continue
        moved = (name,) if trial.formula.is_backward else tuple(directions)
        if all(point.truth.is_smooth(point.arguments, each) for each in moved):
            return Pole(trial.formula, name, shown(trial.formula, point, directions), expected, value)
    return None
