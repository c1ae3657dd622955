"""Checks that formulas are differentiable, comparing their autograd derivatives with finite differences.

Backward and forward formulas are both differentiated in reverse mode and in forward mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.comparison.checked_point import CheckedPoint, Moved
from derivlint.verify.comparison.failures import WRONG_SECOND, Failure
from derivlint.verify.inputs.points import require_memory

#: The part of the message of findings that are not about reverse mode and second order.
FORWARD_MODE = "in forward mode"
THIRD = "of second order"
_KINDS = ("", FORWARD_MODE, THIRD)
#: A scalar function of tensors and incoming gradients, as pairs of tensors whose inner products are summed; the second
#: ones are differentiable.
_Pairs = Sequence[tuple[Any, Any]]
_Value = Callable[[Moved, Sequence[Any]], _Pairs]


def check_second_backward(at: CheckedPoint, of: FunctionSpec, order: int) -> Iterator[Failure]:
    """Check the derivative of a backward formula along the inputs and the incoming gradients.

    Args:
        at: the point.
        of: the formula.
        order: the highest checked order of derivatives.

    Raises:
        UnjudgedError: differences cannot determine it.
    """
    subject = at.subject
    if at.called.originals:
        return
    weights: list[Any] = []

    def value(tensors: Moved, cotangents: Sequence[Any]) -> _Pairs:
        called = subject.call(subject.with_tensors({**at.leaves(of.with_gradients), **tensors}, connected=True))
        gradients = subject.pull_back(of, called, cotangents, subject.needs(of))
        if not weights:
            weights.extend(
                None if item is None else at.like(item, "weight", *variable)
                for variable, item in zip(subject.targets(of), gradients, strict=False)
            )
        return _present(weights, gradients)

    ends = [item for item in at.cotangents if item is not None]
    seconds = [at.like(item, "second", place) for place, item in enumerate(ends)]
    yield from _Directional(at, of, value, ends, seconds).check(order)


def check_second_forward(at: CheckedPoint, of: FunctionSpec, order: int) -> Iterator[Failure]:
    """Check the derivative of a forward formula along the inputs, with fixed tangents.

    Args:
        at: the point.
        of: the formula.
        order: the highest checked order of derivatives.

    Raises:
        UnjudgedError: differences cannot determine it.
    """
    subject = at.subject
    # tangents in lists are dual tensors, which autograd cannot differentiate again
    if at.called.originals or any(argument.type == "Tensor[]" for argument in subject.spec.arguments):
        return
    chosen = [at.cotangents[position] for position in at.positions(of)]

    def value(tensors: Moved, cotangents: Sequence[Any]) -> _Pairs:
        called = subject.call(subject.with_tensors(tensors, connected=True))
        return _present(chosen, subject.push_forward(of, called, at.directions))

    yield from _Directional(at, of, value, [], []).check(order)


class _Directional:
    """A scalar function of a formula, differentiated along the directions of a point.

    Args:
        at: the point.
        of: the formula.
        value: the scalar function.
        ends: the incoming gradients that it depends on.
        seconds: their directions.
    """

    def __init__(
        self, at: CheckedPoint, of: FunctionSpec, value: _Value, ends: Sequence[Any], seconds: Sequence[Any]
    ) -> None:
        self._at = at
        self._of = of
        self._value = value
        self._ends = ends
        self._seconds = seconds
        self._numbers: dict[float, float] = {}

    def check(self, order: int) -> Iterator[Failure]:
        """Check the derivative in both modes, and higher ones in reverse mode if requested."""
        at = self._at
        total = 0.0
        try:
            number, first = self._differentiated(0.0)
            if number is None:
                return
            total = self._numbers[0.0] = _as_number(number)
        except RuntimeError as error:
            require_memory(error)
            # functions that a formula calls need not be differentiable
            at.tally.unjudged += 1
            return
        is_wrong = False
        for failure in self._compare_with_differences(first, self._number, total, ""):
            is_wrong = True
            yield failure
        if is_wrong:
            return
        forward = self._forward()
        if forward is not None:
            yield from self._compare_with_differences(forward, self._number, total, FORWARD_MODE)
        if order > 2:
            yield from self._third(first)

    def _third(self, first: float) -> Iterator[Failure]:
        try:
            _, second = self._differentiated(0.0, order=2)
        except RuntimeError as error:
            require_memory(error)
            self._at.tally.unjudged += 1
            return
        yield from self._compare_with_differences(second, self._derivative, first, THIRD)

    # ---- the number

    def _tensors(self, step: float) -> tuple[Moved, list[Any]]:
        """Tensors and incoming gradients after a step along their directions, as leaves."""
        at = self._at
        tensors = {variable: item.detach().requires_grad_() for variable, item in at.moved(at.variables, step).items()}
        ends = [
            (item.detach() + step * second).requires_grad_()
            for item, second in zip(self._ends, self._seconds, strict=True)
        ]
        return tensors, ends

    def _cotangents(self, ends: Sequence[Any]) -> list[Any]:
        turned = iter(ends)
        return [None if item is None else next(turned) for item in self._at.cotangents] if self._ends else []

    def _number(self, step: float) -> float:
        if step not in self._numbers:
            tensors, ends = self._tensors(step)
            self._numbers[step] = _as_number(_weighted(self._value(tensors, self._cotangents(ends))))
        return self._numbers[step]

    # ---- its derivatives

    def _differentiated(self, step: float, order: int = 1) -> tuple[Any, float]:
        """The value, or None, and its derivative along the directions.

        The derivative with respect to an unconnected tensor is zero.

        Args:
            step: the step along the directions.
            order: the order of the derivative, in reverse mode.

        Raises:
            RuntimeError: a function that the formula calls is not differentiable.
        """
        import torch

        tensors, ends = self._tensors(step)
        leaves = [*tensors.values(), *ends]
        directions = [*(self._at.directions[variable] for variable in tensors), *self._seconds]
        pairs = self._value(tensors, self._cotangents(ends))
        first: Any = _weighted(pairs) if pairs else None
        number = first
        for remaining in range(order, 0, -1):
            if not isinstance(number, torch.Tensor) or not number.requires_grad:
                return first, 0.0
            derivatives = torch.autograd.grad(number, leaves, allow_unused=True, create_graph=remaining > 1)
            number = _weighted(_present(directions, derivatives))
        return first, float(number)

    def _derivative(self, step: float) -> float:
        return self._differentiated(step)[1]

    def _forward(self) -> float | None:
        """The derivative along the directions in forward mode, or None if a called function has none."""
        from torch.autograd import forward_ad

        make_dual: Any = forward_ad.make_dual
        unpack_dual: Any = forward_ad.unpack_dual
        tensors, ends = self._tensors(0.0)
        try:
            with forward_ad.dual_level():
                duals = {variable: make_dual(item, self._at.directions[variable]) for variable, item in tensors.items()}
                incoming = [make_dual(item, second) for item, second in zip(ends, self._seconds, strict=True)]
                pairs = self._value(duals, self._cotangents(incoming))
                if not pairs:
                    return None
                tangents = [unpack_dual(item).tangent for _, item in pairs]
        except RuntimeError as error:
            require_memory(error)
            return None
        return _as_number(_weighted(_present([weight for weight, _ in pairs], tangents)))

    def _compare_with_differences(
        self, actual: float, along: Callable[[float], float], total: float, mode: str
    ) -> Iterator[Failure]:
        at, of = self._at, self._of
        if not math.isfinite(actual) and not at.is_finite:
            # a derivative of a product is a sum of products, and a summand may be infinity times zero
            at.tally.unjudged += 1
            return
        try:
            expected, is_right = at.precision.compared(along, actual, abs(total))
        except RuntimeError as error:
            require_memory(error)
            # after the step, the operator or a called function may reject its input
            at.tally.unjudged += 1
            return
        at.tally.compared += 1
        part = _KINDS.index(mode)
        at.note(of, WRONG_SECOND, of.key, actual - expected, part)
        if not is_right:
            yield Failure(of.number, WRONG_SECOND, of.key, expected, actual, mode, part=part)


def _as_number(value: Any) -> float:
    """A sum of inner products as a number; an empty sum is zero."""
    return float(value) if isinstance(value, (int, float)) else float(value.detach())


def _present(weights: Sequence[Any], values: Sequence[Any]) -> _Pairs:
    """The pairs of weights and values that both exist, without efficient zero tensors."""
    pairs = zip(weights, values, strict=False)
    return [(one, item) for one, item in pairs if one is not None and item is not None and not item._is_zerotensor()]


def _weighted(pairs: _Pairs) -> Any:
    """The sum of inner products, as a differentiable tensor."""
    return sum((weight.conj() * item).real.sum() for weight, item in pairs)
