"""When a number counts as the derivative of a function."""

from __future__ import annotations

import math

import pytest

from derivlint.verify.comparison.differences import DOUBLE, SINGLE, UnjudgedError


def test_what_is_the_derivative_is_right_and_what_is_near_is_not() -> None:
    """Differences of a smooth function give five digits."""
    for found, is_right in ((3.0, True), (3.00001, True), (3.001, False), (-3.0, False)):
        expected, judged = DOUBLE.compared(lambda step: 2 + 3 * step + step**2, found, 2.0)
        assert (round(expected, 6), judged) == (3.0, is_right)


def test_an_infinite_number_is_no_derivative() -> None:
    """Its difference from any other is as infinite as what is allowed for it."""
    for found in (math.inf, -math.inf, math.nan):
        expected, is_right = DOUBLE.compared(lambda step: 2 + 3 * step, found, 2.0)
        assert (round(expected, 6), is_right) == (3.0, False)
        assert not DOUBLE.same(3.0, found, 0.0)


def test_shorter_steps_are_asked_where_the_second_derivative_has_a_kink() -> None:
    """As elu at zero: the error of differences grows with the step, up to more than what counts as the same."""

    def function(step: float) -> float:
        return 0.1 * step + 1.5 * max(step, 0.0) ** 2

    assert abs(DOUBLE.derivative(function) - 0.1) > 1e-5
    assert DOUBLE.compared(function, 0.1, 0.0)[1]
    assert not DOUBLE.compared(function, 0.101, 0.0)[1]


def test_a_kink_is_no_place_to_judge() -> None:
    """Of any number as its derivative nothing is said."""
    for precision in (DOUBLE, SINGLE):
        with pytest.raises(UnjudgedError):
            precision.compared(abs, 0.0, 0.0)


def test_what_shorter_steps_cannot_tell_is_judged_by_longer_ones() -> None:
    """Rounding of a large number leaves nothing of a short step; the wrong number is wrong nevertheless."""

    def function(step: float) -> float:
        return 1e6 * (1 + 3e-6 * step)

    expected, is_right = DOUBLE.compared(function, 2.0, 0.0)
    assert (round(expected, 2), is_right) == (3.0, False)


def test_a_kink_between_the_steps_of_single_precision_is_no_place_to_judge() -> None:
    """As a median: the longer step reaches another element, and the derivative is another one from there."""

    def function(step: float) -> float:
        return 0.25 * min(step, 0.05) + 0.17 * max(step - 0.05, 0.0)

    with pytest.raises(UnjudgedError):
        SINGLE.compared(function, 0.25, 0.3)


@pytest.mark.parametrize(("slope", "is_right"), [(3.0, True), (3.00019, True), (3.0005, False), (2.9997, False)])
def test_each_side_of_a_slight_kink_is_right(slope: float, is_right: bool) -> None:
    """Both sides count as the same, and the mean of them is the slope of neither."""
    assert DOUBLE.compared(lambda step: 3 * step + max(step, 0.0) * 1.9e-4, slope, 0.0)[1] is is_right
