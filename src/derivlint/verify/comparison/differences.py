"""Derivatives by finite differences, and the tolerances for comparing values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from derivlint.verify.inputs.layouts import inner_product, numbers


class UnjudgedError(Exception):
    """Finite differences cannot determine a derivative at the point."""


class Precision(Struct, frozen=True):
    """The tolerances and step sizes for a dtype.

    Attributes:
        step: the step size of differences.
        long_step: a second step size; a point where the two disagree is not judged.
        relative: the tolerance relative to the larger number.
        absolute: the tolerance relative to the subtracted values, to which rounding errors are proportional.
        sides: the tolerance between one-sided differences at a judged point.
        steps: the tolerance between the differences of both step sizes.
        identity: the tolerance for values equal up to rounding, relative to the summands.
        short: whether the precision suffices for shorter steps.
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
        """Whether a value agrees with finite differences within tolerance.

        Args:
            expected: the value by differences.
            actual: the value by a formula.
            scale: the magnitude of the subtracted values.
        """
        if not math.isfinite(actual):
            # any tolerance would be infinite as well
            return False
        allowed = self.relative * max(abs(expected), abs(actual)) + self.absolute * (1 + scale)
        return abs(expected - actual) <= allowed

    def same(self, one: float, another: float, scale: float) -> bool:
        """Whether two values are equal up to rounding.

        Args:
            one: the value of one formula.
            another: the value of another.
            scale: the magnitude of their summands.
        """
        difference = abs(one - another)
        return math.isfinite(difference) and difference <= self.identity * (1 + scale + max(abs(one), abs(another)))

    def compared(self, function: Callable[[float], float], actual: float, scale: float) -> tuple[float, bool]:
        """Compute the derivative of a function at zero, and whether a value agrees with it.

        If it does not, steps of a twentieth are tried, whose error is smaller near kinks of higher derivatives.

        Args:
            function: the function.
            actual: the derivative by a formula.
            scale: the magnitude of the subtracted values.

        Raises:
            UnjudgedError: the function is not smooth there, or not finite.
        """
        expected, _, _ = self._slopes(function)
        if self.agrees(expected, actual, scale):
            return expected, True
        if self.short:
            shorter = replace(self, step=self.step / 20, long_step=self.long_step / 20)
            try:
                expected, left_slope, right_slope = shorter._slopes(function)
            except UnjudgedError:
                # rounding errors exceed such differences
                return expected, False
            if any(self.agrees(slope, actual, scale) for slope in (left_slope, right_slope)):
                # the one-sided derivatives agree within the tolerance, and the value with one of them
                return actual, True
        return expected, self.agrees(expected, actual, scale)

    def derivative(self, function: Callable[[float], float]) -> float:
        """Compute the derivative of a function at zero by central differences.

        Raises:
            UnjudgedError: the function is not smooth there, or not finite.
        """
        return self._slopes(function)[0]

    def _slopes(self, function: Callable[[float], float]) -> tuple[float, float, float]:
        """Return the central, left and right derivative."""
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
        return further, left_slope, right_slope


DOUBLE = Precision(1e-6, 2e-5, 3e-5, 1e-7, 5e-5, 2e-5, 1e-6, short=True, second=True)
#: The gradients of single-precision arguments are rounded, so differences of them mean nothing.
MIXED = replace(DOUBLE, second=False)
#: In single precision, a difference has about three significant digits, and a second difference none. The steps are so
#: long that a kink may lie between them: then the results must not differ by more than the tolerance.
SINGLE = Precision(3e-2, 6e-2, 5e-3, 5e-3, 2e-2, 5e-3, 5e-3, short=False, second=False)


def inner(first_list: Sequence[Any], second_list: Sequence[Any]) -> float:
    """The real part of the inner product of lists of tensors; absent tensors are zero."""
    pairs = zip(first_list, second_list, strict=False)
    return sum(
        (inner_product(first, second) for first, second in pairs if first is not None and second is not None), 0.0
    )


def size_of(values: Sequence[Any]) -> float:
    """The norm of a list of tensors."""
    parts = [part for value in values if value is not None for part in numbers(value.detach())]
    return math.sqrt(sum(float(part.abs().square().sum()) for part in parts))
