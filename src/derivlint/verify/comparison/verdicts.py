"""Verdicts: the findings of a formula compared with those of its earlier version, input by input.

Formulas are compared by their values, not by their text. If both versions give the same wrong value at an input,
nothing has changed; if the earlier one gave the right value, or another wrong one, the finding is new.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from typing import Any

from derivlint.verify.base import corresponds
from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.comparison.checks import OperatorChecker
from derivlint.verify.comparison.failures import (
    FIRST_ORDER,
    INCONSISTENT,
    NOT_FINITE,
    OTHER_CONVENTION,
    WRONG_SECOND,
    Failure,
)
from derivlint.verify.inputs.points import UNSTEADY, SamplePoint, scaled

#: Rounding causes relative differences below this, or values as large as a division by almost zero.
_SMALL = 0.01
_LARGE = 1e6
#: The rules that compare with references other than differences, at every value.
_BY_NUMBER = (OTHER_CONVENTION, NOT_FINITE, INCONSISTENT, WRONG_SECOND)


class FindingVerdict(Enum):
    """The verdict on a finding, compared with the earlier version."""

    #: The earlier version does not have the finding.
    NEW = "new"
    #: The earlier version has the finding as well.
    UNCHANGED = "unchanged"
    #: Only the earlier version has the finding.
    GONE = "gone"
    #: The earlier version has the finding, and this one cannot be judged at the same input.
    UNJUDGED = "unjudged"


class Referee:
    """Compares the failures of formulas with those of an earlier version.

    Args:
        functions: the formulas.
        base: the earlier version.
        checker: checks the formulas.
        earlier: checks the earlier version, at the same inputs with the same directions.

    Attributes:
        invalid: the reason why the last point is invalid for the operator, or empty.
    """

    def __init__(
        self,
        functions: Sequence[FunctionSpec],
        base: Sequence[FunctionSpec],
        checker: OperatorChecker,
        earlier: OperatorChecker,
    ) -> None:
        self._functions = {function.number: function for function in (*base, *functions)}
        self._own = functions
        self._checker = checker
        self._earlier = earlier
        self.invalid = ""

    def check(self, point: SamplePoint, number: int) -> Iterator[tuple[Failure, FindingVerdict]]:
        """Yield the failures of both versions at a point, each with its verdict.

        Args:
            point: the input.
            number: its index among the operator's inputs, which seeds the random numbers.
        """
        failures = list(self._checker.check(point, number))
        self.invalid = self._checker.invalid
        numbers, of_own = dict(self._checker.tally.numbers), set(self._checker.tally.judged)
        before = list(self._earlier.check(point, number))
        numbers_before = dict(self._earlier.tally.numbers)
        judged = []
        for failure in failures:
            is_known = self._is_known(failure, before, numbers_before)
            is_known = is_known or self._is_unsteady(failure, point, number, numbers, numbers_before)
            judged.append((failure, FindingVerdict.UNCHANGED if is_known else FindingVerdict.NEW))
        judged.extend((failure, FindingVerdict.NEW) for failure in self._changed_forms())
        for earlier_failure in before:
            if not any(self._replaces(own, earlier_failure) for own in failures):
                is_gone = self._is_compared(earlier_failure, numbers, numbers_before, of_own)
                judged.append((earlier_failure, FindingVerdict.GONE if is_gone else FindingVerdict.UNJUDGED))
        yield from _without_consequences(judged)

    def _is_compared(self, earlier: Failure, numbers: Any, numbers_before: Any, judged: Collection[int]) -> bool:
        """Whether a failure of the earlier version was judged in this one, at the same input.

        Args:
            earlier: a failure of the earlier version.
            numbers: the values of this version at the input.
            numbers_before: the values of the earlier version.
            judged: the functions of this version with a compared derivative there.
        """
        of = self._functions[earlier.function]
        place = earlier.place(of)
        if place in numbers_before and place not in numbers:
            return False
        if earlier.rule in _BY_NUMBER:
            return True
        return any(corresponds(self._functions[number], of) for number in judged)

    def _replaces(self, own: Failure, earlier: Failure) -> bool:
        """Whether a failure concerns the same derivative as an earlier one, of any kind."""
        of, before = self._functions[own.function], self._functions[earlier.function]
        about = {earlier.target} if earlier.target in before.targets else set(before.targets)
        is_about = own.target in about if own.target in of.targets else not about.isdisjoint(of.targets)
        return of.kind == before.kind and is_about and (own.rule != OTHER_CONVENTION or own.rule == earlier.rule)

    def _is_known(self, failure: Failure, before: Sequence[Failure], numbers_before: Any) -> bool:
        """Whether the earlier version fails in the same way, or has the same value."""
        place = failure.place(self._functions[failure.function])
        if failure.number is None or place not in numbers_before:
            # of one kind: both have a message, or both a number
            return any(
                earlier.rule == failure.rule
                and bool(earlier.message) == bool(failure.message)
                and corresponds(self._functions[earlier.function], self._functions[failure.function])
                for earlier in before
            )
        number_before = numbers_before[place]
        if not math.isfinite(number_before) or not math.isfinite(failure.number):
            return math.isfinite(number_before) == math.isfinite(failure.number)
        return self._checker.precision.same(failure.number, number_before, 0.0)

    def _changed_forms(self) -> Iterator[Failure]:
        """Gradients and tangents whose form differs from the earlier version."""
        forms, before = self._checker.tally.forms, self._earlier.tally.forms
        for (kind, target, part), form in forms.items():
            difference = form.difference(before.get((kind, target, part), form))
            if difference:
                own = (
                    function
                    for function in self._own
                    if function.kind == kind and target in (*function.targets, ", ".join(function.targets))
                )
                yield Failure(next(own).number, OTHER_CONVENTION, target, message=difference, part=part)

    def _is_unsteady(
        self, failure: Failure, point: SamplePoint, number: int, numbers: Any, numbers_before: Any
    ) -> bool:
        """Whether the value of either version is due to rounding: it changes for slightly larger inputs."""
        place = failure.place(self._functions[failure.function])
        if failure.number is None or place not in numbers_before:
            return False
        difference = abs(failure.number - numbers_before[place])
        size = max(abs(failure.number), abs(numbers_before[place]))
        if not math.isfinite(difference) or (size < _LARGE and difference > _SMALL * size):
            # rounding does not cause such a difference, and at a tie scaling may cause one
            return False
        larger = scaled(point)
        for checker, numbers_of_version in ((self._earlier, numbers_before), (self._checker, numbers)):
            list(checker.check(larger, number))
            again = checker.tally.numbers.get(place)
            if (
                again is not None
                and place in numbers_of_version
                and not abs(again - numbers_of_version[place]) <= UNSTEADY * difference
            ):
                return True
        return False


def _without_consequences(judged: list[tuple[Failure, FindingVerdict]]) -> Iterator[tuple[Failure, FindingVerdict]]:
    """Drop failures that follow from others: a wrong derivative makes all values derived from it wrong."""
    wrong: dict[tuple[int, FindingVerdict], str] = {}
    for failure, verdict in judged:
        if failure.rule in FIRST_ORDER:
            wrong.setdefault((failure.function, verdict), failure.rule)
    verdicts = {verdict for _, verdict in wrong}
    for failure, verdict in judged:
        follows = verdict in verdicts if failure.rule == INCONSISTENT else (failure.function, verdict) in wrong
        if not follows or failure.rule == wrong.get((failure.function, verdict)):
            yield failure, verdict
