"""What autograd makes of formulas, against differences of them: formulas have to be differentiable themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from derivlint.verify.checked_point import CheckedPoint, Moved
from derivlint.verify.differences import inner
from derivlint.verify.exhaustion import require_memory
from derivlint.verify.failures import WRONG_SECOND, Failure
from derivlint.verify.functions import Described


def check_second_backward(at: CheckedPoint, of: Described) -> Iterator[Failure]:
    """The derivative of a backward formula along the inputs and the incoming gradients together.

    Raises:
        UnjudgedError: differences do not tell it.
    """
    import torch

    subject = at.subject
    if at.called.originals or subject.has_auxiliaries:
        return
    weights: list[Any] = []

    def value(tensors: Moved, cotangents: Sequence[Any]) -> Any:
        called = subject.call(subject.with_tensors({**at.leaves(of.with_gradients), **tensors}))
        found = subject.pull_back(of, called, cotangents, subject.needs(of))
        if not weights:
            weights.extend(
                None if item is None else at.like(item, "weight", *each)
                for each, item in zip(subject.targets(of), found, strict=True)
            )
        return _weighted(weights, found)

    leaves = {each: subject.tensor(each).detach().requires_grad_() for each in at.variables}
    cotangents = [None if item is None else item.clone().requires_grad_() for item in at.cotangents]
    ends = [item for item in cotangents if item is not None]
    try:
        total = value(leaves, cotangents)
        if not isinstance(total, torch.Tensor) or not total.requires_grad:
            return
        derivatives = torch.autograd.grad(total, [*leaves.values(), *ends], allow_unused=True)
    except RuntimeError as error:
        require_memory(error)
        # what a formula calls need not have a derivative
        at.tally.unjudged += 1
        return
    seconds = [at.like(item, "second", place) for place, item in enumerate(ends)]
    found = inner(derivatives, [*(at.directions[each] for each in leaves), *seconds])

    def along(step: float) -> float:
        tensors = {each: item.detach().requires_grad_() for each, item in at.moved(at.variables, step).items()}
        turned = iter([item.detach() + step * second for item, second in zip(ends, seconds, strict=True)])
        return float(value(tensors, [None if item is None else next(turned) for item in cotangents]))

    yield from _judged(at, of, found, along, float(total.detach()))


def check_second_forward(at: CheckedPoint, of: Described) -> Iterator[Failure]:
    """The derivative of a forward formula along the inputs, its tangents held.

    Raises:
        UnjudgedError: differences do not tell it.
    """
    import torch

    subject = at.subject
    # tangents in lists are duals, which autograd does not differentiate a second time
    if at.called.originals or any(argument.type == "Tensor[]" for argument in subject.described.arguments):
        return
    chosen = [at.cotangents[position] for position in at.positions(of)]

    def value(tensors: Moved) -> Any:
        called = subject.call(subject.with_tensors(tensors))
        return _weighted(chosen, subject.push_forward(of, called, at.directions))

    leaves = {each: subject.tensor(each).detach().requires_grad_() for each in at.variables}
    try:
        total = value(leaves)
        if not isinstance(total, torch.Tensor) or not total.requires_grad:
            return
        derivatives = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    except RuntimeError as error:
        require_memory(error)
        at.tally.unjudged += 1
        return
    found = inner(derivatives, [at.directions[each] for each in leaves])

    def along(step: float) -> float:
        with torch.no_grad():
            return float(value(at.moved(at.variables, step)))

    yield from _judged(at, of, found, along, float(total.detach()))


def _weighted(weights: Sequence[Any], values: Sequence[Any]) -> Any:
    """The sum of inner products, as a tensor that can be differentiated."""
    pairs = zip(weights, values, strict=False)
    return sum((weight.conj() * item).real.sum() for weight, item in pairs if weight is not None and item is not None)


def _judged(
    at: CheckedPoint, of: Described, found: float, along: Callable[[float], float], total: float
) -> Iterator[Failure]:
    if not math.isfinite(found):
        at.tally.unjudged += 1
        return
    try:
        expected, is_right = at.precision.compared(along, found, abs(total))
    except RuntimeError as error:
        require_memory(error)
        # a step away the operator or what a formula calls may refuse its input
        at.tally.unjudged += 1
        return
    at.tally.compared += 1
    at.note(of, WRONG_SECOND, of.key, found - expected)
    if not is_right:
        yield Failure(of.number, WRONG_SECOND, of.key, expected, found)
