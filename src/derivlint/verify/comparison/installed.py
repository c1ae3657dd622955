"""What the installed PyTorch makes of derivatives where nothing else tells what is right.

Where differences cannot tell, as at a kink, it is a matter of agreement which of the possible numbers a formula gives:
another one is not an error, but nothing else tells who edits a formula that the agreement is another now. And where a
formula raises an error, at an input that no one had in mind, it is one only if the formula before did not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from derivlint.verify.code.functions import FORWARD, Described
from derivlint.verify.comparison.checked_point import CheckedPoint, Variable
from derivlint.verify.comparison.differences import inner, size_of
from derivlint.verify.comparison.exhaustion import require_memory
from derivlint.verify.comparison.failures import OTHER_CONVENTION, Failure
from derivlint.verify.comparison.numeric import Called
from derivlint.verify.inputs.layouts import is_plain, numbers
from derivlint.verify.inputs.points import REFUSALS


def gradient_problem(at: CheckedPoint, of: Described, variable: Variable, gradient: Any) -> Failure | None:
    """What is to be said of a gradient where differences cannot tell it."""
    gradient_there = _gradient(at, of, variable)
    if gradient_there is None:
        return None
    direction = [at.directions[variable]]
    known, found = inner([gradient_there], direction), inner([gradient], direction)
    return _compared(at, of, variable, known, found, size_of([gradient]) * size_of(direction))


def tangents_problem(at: CheckedPoint, of: Described, found: float) -> Failure | None:
    """What is to be said of the tangents for all inputs at once, multiplied by the cotangents."""
    tangents = _tangents(at)
    if tangents is None:
        return None
    known = at.projected(of, [tangents[position] for position in at.positions(of)])
    return _compared(at, of, (of.key, 0), known, found, size_of(tangents) * size_of(at.cotangents))


def unfinished_problems(at: CheckedPoint, of: Described) -> Iterator[Failure]:
    """What is to be said of a formula where some outputs are not finite: only another version tells what is right.

    Of complex numbers nothing is: which of their parts are NaN depends on the order of a product.
    """
    if any(
        item is not None and item.is_complex() for item in (*at.called.outputs, *map(at.subject.tensor, at.variables))
    ):
        return
    direction = at.directions
    if of.kind == FORWARD:
        tangents = _tangents(at)
        positions = at.positions(of)
        known = None if tangents is None else [tangents[position] for position in positions]
        weights = [at.cotangents[position] for position in positions]
        yield from _unfinished(at, of, (of.key, 0), at.tangents(of, at.variables), known, weights)
        return
    for variable, gradient in zip(at.subject.targets(of), at.gradients(of, at.cotangents), strict=True):
        if variable in direction:
            there = _gradient(at, of, variable)
            fitted = [at.fitted(variable, gradient)]
            known = None if there is None else [there]
            yield from _unfinished(at, of, variable, fitted, known, [direction[variable]])


def _unfinished(
    at: CheckedPoint, of: Described, what: Variable, found: Sequence[Any], known: Sequence[Any] | None, weights: Any
) -> Iterator[Failure]:
    mine = inner(list(map(_finite, found)), weights)
    at.note(of, OTHER_CONVENTION, what[0], mine, what[1])
    if known is None:
        return
    theirs = inner(list(map(_finite, known)), weights)
    if not at.precision.same(mine, theirs, 0.0):
        said = "is not that of the installed PyTorch, at an input where outputs are not finite"
        yield Failure(of.number, OTHER_CONVENTION, what[0], theirs, mine, said, part=what[1])


def _finite(tensor: Any) -> Any:
    """A tensor with numbers that stand for NaN and for infinities."""
    import torch

    if tensor is None or not is_plain(tensor):
        return None
    parts = torch.view_as_real(tensor.detach().resolve_conj()) if tensor.is_complex() else tensor.detach()
    made = torch.nan_to_num(parts, nan=17.3, posinf=31.7, neginf=-41.9)
    return torch.view_as_complex(made) if tensor.is_complex() else made


def is_differentiated(at: CheckedPoint, of: Described) -> bool:
    """Whether the installed PyTorch has a derivative of the kind of a formula at the point."""
    if of.kind == FORWARD:
        return _tangents(at) is not None
    return any(_gradient(at, of, each) is not None for each in at.subject.variables(of.targets))


def _compared(
    at: CheckedPoint, of: Described, what: Variable, known: float, found: float, scale: float
) -> Failure | None:
    if math.isfinite(known) and math.isfinite(found):
        agrees = at.precision.same(known, found, scale)
    else:
        agrees = math.isfinite(known) == math.isfinite(found)
    return None if agrees else Failure(of.number, OTHER_CONVENTION, what[0], known, found, part=what[1])


def _gradient(at: CheckedPoint, of: Described, variable: Variable) -> Any:
    """The gradient that the installed PyTorch gives; None where it gives none."""
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
        # not every operator has a derivative there, and not every one takes what its formula takes
        return None
    return torch.zeros_like(leaves[variable]) if gradient is None else gradient


def _tangents(at: CheckedPoint) -> list[Any] | None:
    """The tangents of all outputs for the directions of the point; None where the installed PyTorch gives none."""
    import torch
    from torch.autograd import forward_ad

    make_dual: Any = forward_ad.make_dual
    unpack_dual: Any = forward_ad.unpack_dual
    try:
        with torch.enable_grad(), forward_ad.dual_level():
            duals = {each: make_dual(at.subject.tensor(each).detach(), at.directions[each]) for each in at.variables}
            called = at.subject.call(at.subject.with_tensors(duals))
            if not _is_same(at, called):
                return None
            return [None if item is None else unpack_dual(item).tangent for item in called.outputs]
    except REFUSALS as error:
        require_memory(error)
        return None


def _is_same(at: CheckedPoint, called: Called) -> bool:
    """Whether the outputs are those at the point: of random numbers and uninitialized memory there may be others."""
    pairs = zip(called.outputs, at.called.outputs, strict=True)
    return all(
        bool(((left == right) | ((left != left) & (right != right))).all()) if left.shape == right.shape else False
        for one, other in pairs
        if one is not None
        for left, right in zip(numbers(one.detach()), numbers(other.detach()), strict=True)
    )
