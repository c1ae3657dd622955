"""The derivatives of the installed PyTorch, as the reference where finite differences prove nothing.

At a kink, any subgradient is right, and the choice is a convention: another one is reported, but not as an error, since
the author of an edit should know that the convention changed. NaN in place of a number is an error. A formula that
raises at an unusual input is an error only if the earlier formula did not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from derivlint.verify.code.functions import FORWARD, FunctionSpec
from derivlint.verify.comparison.checked_point import CheckedPoint, Variable
from derivlint.verify.comparison.differences import inner, size_of
from derivlint.verify.comparison.failures import NOT_FINITE, OTHER_CONVENTION, Failure
from derivlint.verify.comparison.numeric import CallResult
from derivlint.verify.inputs.layouts import has_same_numbers, is_plain, numbers
from derivlint.verify.inputs.points import REFUSALS, require_memory


def gradient_problem(at: CheckedPoint, of: FunctionSpec, variable: Variable, gradient: Any) -> Failure | None:
    """Compare a gradient that finite differences cannot judge."""
    gradient_there = _gradient(at, of, variable)
    if gradient_there is None:
        return None
    direction = [at.directions[variable]]
    reference, actual = inner([gradient_there], direction), inner([gradient], direction)
    return _compared(at, of, variable, reference, actual, size_of([gradient]) * size_of(direction))


def tangents_problem(at: CheckedPoint, of: FunctionSpec, actual: float) -> Failure | None:
    """Compare the tangents for all inputs at once, multiplied by the cotangents."""
    tangents = _tangents(at)
    if tangents is None:
        return None
    reference = at.projected(of, [tangents[position] for position in at.positions(of)])
    return _compared(at, of, (of.key, 0), reference, actual, size_of(tangents) * size_of(at.cotangents))


def unfinished_problems(at: CheckedPoint, of: FunctionSpec) -> Iterator[Failure]:
    """Compare a formula at points with non-finite outputs; only another version can be the reference.

    Complex numbers are not compared: the NaN parts depend on the order of a product.
    """
    if any(
        item is not None and item.is_complex() for item in (*at.called.outputs, *map(at.subject.tensor, at.variables))
    ):
        return
    direction = at.directions
    if of.kind == FORWARD:
        tangents = _tangents(at)
        positions = at.positions(of)
        reference = None if tangents is None else [tangents[position] for position in positions]
        weights = [at.cotangents[position] for position in positions]
        yield from _unfinished(at, of, (of.key, 0), at.tangents(of, at.variables), reference, weights)
        return
    for variable, gradient in zip(at.subject.targets(of), at.gradients(of, at.cotangents), strict=True):
        if variable in direction:
            installed_gradient = _gradient(at, of, variable)
            fitted = [at.fitted(variable, gradient)]
            reference = None if installed_gradient is None else [installed_gradient]
            yield from _unfinished(at, of, variable, fitted, reference, [direction[variable]])


def _unfinished(
    at: CheckedPoint,
    of: FunctionSpec,
    target: Variable,
    values: Sequence[Any],
    reference: Sequence[Any] | None,
    weights: Any,
) -> Iterator[Failure]:
    mine = inner(list(map(_finite, values)), weights)
    at.note(of, OTHER_CONVENTION, target[0], mine, target[1])
    if reference is None:
        return
    if any(map(_is_less_finite, values, reference)):
        yield Failure(of.number, NOT_FINITE, target[0], part=target[1])
        return
    theirs = inner(list(map(_finite, reference)), weights)
    if not at.precision.same(mine, theirs, 0.0):
        message = "differs from that of the installed PyTorch at an input where outputs are not finite"
        yield Failure(of.number, OTHER_CONVENTION, target[0], theirs, mine, message, part=target[1])


def _finite(tensor: Any) -> Any:
    """Replace NaN and infinities in a tensor by finite numbers."""
    import torch

    if tensor is None or not is_plain(tensor):
        return None
    parts = torch.view_as_real(tensor.detach().resolve_conj()) if tensor.is_complex() else tensor.detach()
    made = torch.nan_to_num(parts, nan=17.3, posinf=31.7, neginf=-41.9)
    return torch.view_as_complex(made) if tensor.is_complex() else made


def _is_less_finite(tensor: Any, reference: Any) -> bool:
    """Whether an element is NaN or infinite whose reference is finite."""
    if tensor is None or reference is None or not is_plain(tensor) or tensor.shape != reference.shape:
        return False
    return bool((reference.detach().isfinite() & ~tensor.detach().isfinite()).any())


def is_differentiated(at: CheckedPoint, of: FunctionSpec) -> bool:
    """Whether the installed PyTorch differentiates in the mode of a formula at the point."""
    if of.kind == FORWARD:
        return _tangents(at) is not None
    return any(_gradient(at, of, variable) is not None for variable in at.subject.variables(of.targets))


def _compared(
    at: CheckedPoint, of: FunctionSpec, target: Variable, reference: float, actual: float, scale: float
) -> Failure | None:
    rule = OTHER_CONVENTION
    if math.isfinite(reference) and math.isfinite(actual):
        agrees = at.precision.same(reference, actual, scale)
    else:
        agrees = math.isfinite(reference) == math.isfinite(actual)
        rule = NOT_FINITE if math.isfinite(reference) else OTHER_CONVENTION
    return None if agrees else Failure(of.number, rule, target[0], reference, actual, part=target[1])


def _gradient(at: CheckedPoint, of: FunctionSpec, variable: Variable) -> Any:
    """The gradient of the installed PyTorch, or None."""
    import torch

    leaves = at.leaves(of.with_gradients)
    try:
        with torch.enable_grad():
            called = at.subject.call(at.subject.with_tensors(leaves))
        if not _is_same(at, called):
            return None
        pairs = [
            (item, cotangent)
            for item, cotangent in zip(called.outputs, at.cotangents, strict=True)
            if cotangent is not None and item.requires_grad
        ]
        if not pairs:
            return None
        outputs, cotangents = zip(*pairs, strict=True)
        (gradient,) = torch.autograd.grad(outputs, [leaves[variable]], cotangents, allow_unused=True)
    except REFUSALS as error:
        require_memory(error)
        # not every operator has a derivative there, or accepts the formula's inputs
        return None
    return torch.zeros_like(leaves[variable]) if gradient is None else gradient


def _tangents(at: CheckedPoint) -> list[Any] | None:
    """The tangents of the installed PyTorch for the directions of the point, or None."""
    import torch
    from torch.autograd import forward_ad

    make_dual: Any = forward_ad.make_dual
    unpack_dual: Any = forward_ad.unpack_dual
    try:
        with torch.enable_grad(), forward_ad.dual_level():
            duals = {
                variable: make_dual(at.subject.tensor(variable).detach(), at.directions[variable])
                for variable in at.variables
            }
            called = at.subject.call(at.subject.with_tensors(duals))
            if not _is_same(at, called):
                return None
            return [None if item is None else unpack_dual(item).tangent for item in called.outputs]
    except REFUSALS as error:
        require_memory(error)
        return None


def _is_same(at: CheckedPoint, called: CallResult) -> bool:
    """Whether the outputs equal those at the point; random numbers and uninitialized memory may differ."""
    pairs = zip(called.outputs, at.called.outputs, strict=True)
    return all(
        has_same_numbers(actual, expected)
        for output, output_at_point in pairs
        if output is not None
        for actual, expected in zip(numbers(output.detach()), numbers(output_at_point.detach()), strict=True)
    )
