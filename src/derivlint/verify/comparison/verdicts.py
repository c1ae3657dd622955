"""Verdicts: the findings of a formula compared with those of its earlier version, input by input.

A finding is not compared by what the formula looks like but by what it computes. At an input where both versions give
the same wrong number nothing has changed, whatever the text is; where the earlier one gave the right number, or another
wrong one, the finding is new.
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

#: Rounding makes differences of a small part of a number, or numbers as large as what is divided by nearly nothing.
_SMALL = 0.01
_LARGE = 1e6
#: The rules that compare with something else than differences of the operator, wherever there is a number.
_BY_NUMBER = (OTHER_CONVENTION, NOT_FINITE, INCONSISTENT, WRONG_SECOND)


class FindingVerdict(Enum):
    """The comparison of a finding with the earlier version."""

    #: The earlier version does not have it.
    NEW = "new"
    #: The earlier version has it as well.
    UNCHANGED = "unchanged"
    #: The earlier version had it.
    GONE = "gone"
    #: The earlier version had it, and nothing tells whether this one has it at the same input.
    UNJUDGED = "unjudged"


class Referee:
    """Compares the failures of formulas with those of an earlier version.

    Args:
        functions: the formulas.
        base: the earlier version.
        checker: checks the formulas.
        earlier: checks the earlier version, at the same inputs along the same directions.

    Attributes:
        invalid: why the last point is none of the operator, empty if it is.
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
            number: which one of the operator's it is, on which random numbers depend.
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
        """Whether what fails in the earlier version was judged in this one, at the same input.

        Args:
            earlier: a failure of the earlier version.
            numbers: what this version gave at the input.
            numbers_before: what the earlier one gave.
            judged: the functions of this version whose derivative was compared with another one there.
        """
        of = self._functions[earlier.function]
        place = earlier.place(of)
        if place in numbers_before and place not in numbers:
            return False
        if earlier.rule in _BY_NUMBER:
            return True
        return any(corresponds(self._functions[number], of) for number in judged)

    def _is_like(self, one: Failure, another: Failure) -> bool:
        """Whether two failures are of one kind, of formulas about the same."""
        if one.rule != another.rule:
            return False
        return corresponds(self._functions[one.function], self._functions[another.function])

    def _replaces(self, own: Failure, earlier: Failure) -> bool:
        """Whether a failure is about the same derivative as an earlier one, be it of another kind."""
        of, before = self._functions[own.function], self._functions[earlier.function]
        about = {earlier.target} if earlier.target in before.targets else set(before.targets)
        is_about = own.target in about if own.target in of.targets else not about.isdisjoint(of.targets)
        return of.kind == before.kind and is_about and (own.rule != OTHER_CONVENTION or own.rule == earlier.rule)

    def _is_known(self, failure: Failure, before: Sequence[Failure], numbers_before: Any) -> bool:
        """Whether the earlier version fails in the same way, or gives the same number."""
        place = failure.place(self._functions[failure.function])
        if failure.number is None or place not in numbers_before:
            # of one kind: both have a message, or both a number
            return any(
                self._is_like(earlier, failure) and bool(earlier.message) == bool(failure.message) for earlier in before
            )
        number_before = numbers_before[place]
        if not math.isfinite(number_before) or not math.isfinite(failure.number):
            return math.isfinite(number_before) == math.isfinite(failure.number)
        return self._checker.precision.same(failure.number, number_before, 0.0)

    def _changed_forms(self) -> Iterator[Failure]:
        """Gradients and tangents that are other than those of the earlier version, beside their numbers."""
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
        """Whether the number of either version is one of rounding: it is another one for inputs a little larger."""
        place = failure.place(self._functions[failure.function])
        if failure.number is None or place not in numbers_before:
            return False
        difference = abs(failure.number - numbers_before[place])
        size = max(abs(failure.number), abs(numbers_before[place]))
        if not math.isfinite(difference) or (size < _LARGE and difference > _SMALL * size):
            # rounding makes no such difference, and at a tie scaling may make one
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
    """Failures without those that follow from others: where a derivative is wrong, so is all that is made of it."""
    wrong: dict[tuple[int, FindingVerdict], str] = {}
    for failure, verdict in judged:
        if failure.rule in FIRST_ORDER:
            wrong.setdefault((failure.function, verdict), failure.rule)
    verdicts = {verdict for _, verdict in wrong}
    for failure, verdict in judged:
        follows = verdict in verdicts if failure.rule == INCONSISTENT else (failure.function, verdict) in wrong
        if not follows or failure.rule == wrong.get((failure.function, verdict)):
            yield failure, verdict
