"""Derivatives by finite differences, and when two numbers count as the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from derivlint.verify.inputs.layouts import inner_product, numbers


class UnjudgedError(Exception):
    """The function has no derivative there that finite differences can measure."""


class Precision(Struct, frozen=True):
    """The tolerances and steps for numbers of a type.

    Attributes:
        step: the step of differences.
        long_step: another one; where the two disagree, the point is not a place to judge.
        relative: how far apart equal numbers may be, as a part of the larger one.
        absolute: the same as a part of what is subtracted, which the error of rounding grows with.
        sides: how far apart one-sided differences may be at a place to judge.
        steps: how far apart the differences of both steps may be.
        identity: how far apart numbers may be that are the same but for rounding, as a part of what is summed up.
        short: whether there are digits enough for shorter steps.
        second: whether derivatives of formulas can be compared.
    """

    step: float
    long_step: float
    relative: float
    absolute: float
    sides: float
    steps: float
    identity: float
    short: bool
    second: bool

    def agrees(self, expected: float, actual: float, scale: float) -> bool:
        """Whether two numbers are the same as far as differences can tell.

        Args:
            expected: by differences.
            actual: by a formula.
            scale: the size of what was subtracted.
        """
        if not math.isfinite(actual):
            # whatever is allowed would be infinite as well
            return False
        allowed = self.relative * max(abs(expected), abs(actual)) + self.absolute * (1 + scale)
        return abs(expected - actual) <= allowed

    def same(self, one: float, another: float, scale: float) -> bool:
        """Whether two numbers are the same but for rounding.

        Args:
            one: by one formula.
            another: by another.
            scale: the size of what is summed up in them.
        """
        difference = abs(one - another)
        return math.isfinite(difference) and difference <= self.identity * (1 + scale + max(abs(one), abs(another)))

    def compared(self, function: Callable[[float], float], actual: float, scale: float) -> tuple[float, bool]:
        """The derivative at zero of a function of a number, and whether a number is the same as it.

        Where it is not, steps of a twentieth are asked: their error is less where a higher derivative has a kink.

        Args:
            function: the function.
            actual: the derivative by a formula.
            scale: the size of what is subtracted.

        Raises:
            UnjudgedError: the function is not smooth there, or not finite.
        """
        expected = self.derivative(function)
        if self.agrees(expected, actual, scale):
            return expected, True
        if self.short:
            shorter = replace(self, step=self.step / 20, long_step=self.long_step / 20)
            try:
                expected = shorter.derivative(function)
            except UnjudgedError:
                # rounding leaves nothing of such steps
                return expected, False
        return expected, self.agrees(expected, actual, scale)

    def derivative(self, function: Callable[[float], float]) -> float:
        """The derivative at zero of a function of a number, by central differences.

        Raises:
            UnjudgedError: the function is not smooth there, or not finite.
        """
        middle = function(0.0)
        high, low = function(self.step), function(-self.step)
        first = (high - low) / (2 * self.step)
        right_slope, left_slope = (high - middle) / self.step, (middle - low) / self.step
        further = (function(self.long_step) - function(-self.long_step)) / (2 * self.long_step)
        if not all(map(math.isfinite, (middle, high, low, further))):
            raise UnjudgedError
        scale = 1 + abs(first)
        if abs(right_slope - left_slope) > self.sides * scale or abs(first - further) > self.steps * scale:
            raise UnjudgedError
        return further


DOUBLE = Precision(1e-6, 2e-5, 3e-5, 1e-7, 5e-5, 2e-5, 1e-6, short=True, second=True)
#: Rounding leaves single precision about three digits of a difference, and none of a second one. Steps are so long that
#: a kink may lie between them: then they must not differ by more than what counts as the same.
SINGLE = Precision(3e-2, 6e-2, 5e-3, 5e-3, 2e-2, 5e-3, 5e-3, short=False, second=False)


def inner(first_list: Sequence[Any], second_list: Sequence[Any]) -> float:
    """The real part of the inner product of lists of tensors, where what is absent is zero."""
    pairs = zip(first_list, second_list, strict=False)
    return sum(
        (inner_product(first, second) for first, second in pairs if first is not None and second is not None), 0.0
    )


def size_of(values: Sequence[Any]) -> float:
    """The norm of a list of tensors."""
    parts = [part for value in values if value is not None for part in numbers(value.detach())]
    return math.sqrt(sum(float(part.abs().square().sum()) for part in parts))
