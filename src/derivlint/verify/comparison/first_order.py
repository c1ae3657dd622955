"""Checks gradients and tangents against finite differences, and against each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.comparison import installed
from derivlint.verify.comparison.checked_point import CheckedPoint, MisshapenError, Variable
from derivlint.verify.comparison.differences import UnjudgedError, inner, size_of
from derivlint.verify.comparison.failures import (
    INCONSISTENT,
    NOT_FINITE,
    OTHER_CONVENTION,
    WRONG_JVP,
    WRONG_SHAPE,
    WRONG_VJP,
    Failure,
)
from derivlint.verify.inputs.points import REFUSALS, is_inexact, require_memory


def check_gradients(at: CheckedPoint, of: FunctionSpec, gradients: Sequence[Any]) -> Iterator[Failure]:
    """Check each gradient of a backward formula against differences of the operator."""
    targets = at.subject.targets(of)
    if len(gradients) != len(targets):
        yield Failure(
            of.number, WRONG_SHAPE, of.key, message=f"there are {len(gradients)} gradients for {len(targets)} tensors"
        )
        return
    for variable, gradient in zip(targets, gradients, strict=True):
        if variable not in at.directions:
            continue
        at.note_form(of, *variable, gradient)
        try:
            fitted = at.fitted(variable, gradient)
        except MisshapenError as error:
            yield Failure(of.number, WRONG_SHAPE, variable[0], message=f'the gradient of "{variable[0]}" {error}')
            continue
        yield from _check_gradient(at, of, variable, fitted)


def _check_gradient(at: CheckedPoint, of: FunctionSpec, variable: Variable, gradient: Any) -> Iterator[Failure]:
    actual = inner([gradient], [at.directions[variable]])
    for rule in (WRONG_VJP, OTHER_CONVENTION, NOT_FINITE):
        at.note(of, rule, variable[0], actual, variable[1])
    judged = _compare_along(at, of, [variable], range(len(at.cotangents)), actual)
    if judged is None:
        problem = installed.gradient_problem(at, of, variable, gradient)
        if problem is not None:
            yield problem
        return
    expected, is_right = judged
    if not is_right:
        yield Failure(of.number, WRONG_VJP, variable[0], expected, actual, part=variable[1])


def check_tangents(at: CheckedPoint, of: FunctionSpec) -> Iterator[Failure]:
    """Check the tangents of a forward formula against differences: for all inputs at once, then for each alone."""
    groups = [at.variables]
    if len(at.variables) > 1:
        groups += [[variable] for variable in at.variables]
    for group in groups:
        failure = _wrong_tangent(at, of, group)
        if failure is not None:
            yield failure
            if failure.rule != OTHER_CONVENTION:
                return


def _wrong_tangent(at: CheckedPoint, of: FunctionSpec, group: Sequence[Variable]) -> Failure | None:
    positions = at.positions(of)
    tangents = at.tangents(of, group)
    for position, tangent in zip(positions, tangents, strict=False):
        output = at.called.outputs[position]
        at.note_form(of, ", ".join(of.targets), position, tangent)
        if tangent is None or not is_inexact(output) or output.is_nested:
            continue
        if tuple(tangent.shape) != tuple(output.shape):
            message = f"the tangent has the shape {list(tangent.shape)}, where the output has {list(output.shape)}"
            return Failure(of.number, WRONG_SHAPE, of.key, message=message)
        if tangent.is_complex() and not output.is_complex():
            return Failure(of.number, WRONG_SHAPE, of.key, message="the tangent is complex, where the output is real")
    actual = at.projected(of, tangents)
    target = group[0][0] if len(group) == 1 else of.key
    part = group[0][1] if len(group) == 1 else 0
    at.note(of, WRONG_JVP, target, actual, part)
    if len(group) == len(at.variables):
        for rule in (OTHER_CONVENTION, NOT_FINITE):
            at.note(of, rule, of.key, actual)
    judged = _compare_along(at, of, group, positions, actual)
    if judged is None:
        return installed.tangents_problem(at, of, actual) if len(group) == len(at.variables) else None
    expected, is_right = judged
    if is_right:
        return None
    return Failure(of.number, WRONG_JVP, target, expected, actual, part=part)


def _compare_along(
    at: CheckedPoint, of: FunctionSpec, variables: Sequence[Variable], positions: Sequence[int], actual: float
) -> tuple[float, bool] | None:
    """The derivative of outputs along inputs, and whether a formula agrees, or None if it cannot be judged."""
    chosen = [at.cotangents[position] for position in positions]

    def along(step: float) -> float:
        outputs = at.outputs(variables, step)
        return inner(chosen, [outputs[position] for position in positions])

    if at.is_coarse or (at.is_complex and not at.is_finite and not math.isfinite(actual)):
        # for complex numbers, the NaN parts depend on the order of a product
        at.tally.unjudged += 1
        return None
    scale = abs(inner(chosen, [at.called.outputs[position] for position in positions]))
    try:
        expected, is_right = at.precision.compared(along, actual, scale)
        is_judged = is_right or at.is_differentiable(variables, positions)
    except UnjudgedError:
        is_judged = False
    if not is_judged:
        at.tally.unjudged += 1
        return None
    at.tally.count(of.number, expected, actual)
    return expected, is_right


def check_adjoint(
    at: CheckedPoint, backward: Sequence[FunctionSpec], forward: Sequence[FunctionSpec]
) -> Iterator[Failure]:
    """Check that backward and forward formulas are adjoint.

    Skipped unless both cover all inputs and outputs.
    """
    covered = {name for formula in backward for name in formula.targets}
    made = {position for formula in forward for position in at.positions(formula)}
    if any(name not in covered for name, _ in at.variables):
        return
    if len(made) != sum(map(is_inexact, at.called.outputs)):
        return
    try:
        pulls = [_pulled_back(at, of) for of in backward]
        pushed, scale = 0.0, 0.0
        for of in forward:
            at.before(of.number)
            tangents = at.tangents(of, at.variables)
            pushed += at.projected(of, tangents)
            flowing = [
                tangent
                for position, tangent in zip(at.positions(of), tangents, strict=False)
                if at.cotangents[position] is not None
            ]
            scale += size_of(flowing) * size_of(at.cotangents)
    except (MisshapenError, *REFUSALS) as error:
        # reported by the check of that formula
        require_memory(error)
        return
    pulled = sum(product for product, _ in pulls)
    scale += sum(size for _, size in pulls)
    if not math.isfinite(pulled) or not math.isfinite(pushed):
        return
    at.note(forward[0], INCONSISTENT, forward[0].key, pushed - pulled)
    if not at.precision.same(pulled, pushed, scale):
        yield Failure(forward[0].number, INCONSISTENT, forward[0].key, pulled, pushed)


def _pulled_back(at: CheckedPoint, of: FunctionSpec) -> tuple[float, float]:
    """The inner product of the directions with the gradients of a formula, and the product of their norms."""
    at.before(of.number)
    if not at.subject.variables(of.targets):
        return 0.0, 0.0
    product = size = 0.0
    for variable, gradient in zip(at.subject.targets(of), at.gradients(of, at.cotangents), strict=True):
        if variable in at.directions:
            fitted = at.fitted(variable, gradient)
            product += inner([fitted], [at.directions[variable]])
            size += size_of([fitted]) * size_of([at.directions[variable]])
    return product, size
