"""All checks of the formulas of one operator at one point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from derivlint.verify.code.functions import BACKWARD, FORWARD, FunctionSpec
from derivlint.verify.comparison.checked_point import CheckedPoint, MisshapenError
from derivlint.verify.comparison.differences import DOUBLE, UnjudgedError
from derivlint.verify.comparison.failures import (
    CRASH,
    INCONSISTENT,
    OTHER_CONVENTION,
    WRONG_JVP,
    WRONG_VJP,
    Failure,
    Tally,
    first_line,
)
from derivlint.verify.comparison.first_order import check_adjoint, check_gradients, check_tangents
from derivlint.verify.comparison.incoming import (
    check_accumulation,
    check_all_undefined,
    check_embedding,
    check_mask,
    check_strides,
    check_undefined,
    check_undifferentiated,
)
from derivlint.verify.comparison.installed import is_differentiated, unfinished_problems
from derivlint.verify.comparison.numeric import CallResult, OperatorAtPoint, WriteError
from derivlint.verify.comparison.second_order import check_second_backward, check_second_forward
from derivlint.verify.inputs.layouts import has_finite_numbers
from derivlint.verify.inputs.points import (
    CPU,
    REFUSALS,
    UNSTEADY,
    SamplePoint,
    generator,
    is_inexact,
    placed,
    require_memory,
    scaled,
)

_NOT_FINITE = "outputs that are not finite"
#: The number of the directions with cotangents for all outputs, including those that are not finite.
_ALL_OUTPUTS = -1


class OperatorChecker:
    """Checks the formulas of one operator.

    Args:
        functions: the functions of the formulas of the operator.
        namespace: the namespace in which they can be called.
        seed: the random seed.
        order: the highest checked order of derivatives.
        directions: the number of random directions.
        complete: whether checks continue after a failure.
        device: the device type of the tensors.

    Attributes:
        tally: the counts of comparisons at all points.
        before: called before each step, so that a crash can be traced to it.
        invalid: the reason why the last point is invalid for the operator, or empty.
        refusal: the last error of a formula at an input that the installed PyTorch does not differentiate either.
        precision: the tolerances at the last point.
    """

    def __init__(
        self,
        functions: Sequence[FunctionSpec],
        namespace: Any,
        seed: int,
        *,
        order: int = 2,
        directions: int = 1,
        complete: bool = False,
        device: str = CPU,
    ) -> None:
        self._backward = [function for function in functions if function.kind == BACKWARD]
        self._forward = [function for function in functions if function.kind == FORWARD]
        self._first = functions[0]
        self._names = _names(self._backward, self._forward)
        self._namespace = namespace
        self._seed = seed
        self._order = order
        self._directions = directions
        self._complete = complete
        self._device = device
        self.tally = Tally()
        self.before: Callable[[int], None] = lambda number: None
        self.invalid = ""
        self.refusal = ""
        self.precision = DOUBLE

    def check(self, point: SamplePoint, number: int) -> Iterator[Failure]:
        """Yield the failures at a point; none if the operator rejects it."""
        import torch

        self.tally.forget()
        self.invalid = ""
        point = placed(point, self._device)
        try:
            subject = OperatorAtPoint(self._first, point, self._namespace)
            with torch.no_grad():
                called = subject.call(subject.point.values)
        except Exception as error:
            require_memory(error)
            self.invalid = f"{type(error).__name__}: {error}"
            return
        outputs = [item for item in called.outputs if is_inexact(item)]
        if not outputs:
            self.invalid = "no output with a derivative"
            return
        are_finite = [*map(has_finite_numbers, outputs)]
        if not all(are_finite):
            yield from self._compare(subject, called, number)
        if not any(are_finite):
            self.invalid = _NOT_FINITE
            return
        for turn in range(self._directions):
            random = partial(generator, self._seed, self._first.operator, number, turn)
            at = CheckedPoint(subject, called, self._names, random, self.tally, self.before, turn, point.cached_outputs)
            self.precision = at.precision
            if not at.variables:
                self.invalid = "no input with a derivative"
                return
            for failure in self._check(at, is_first=turn == 0):
                if failure.rule != INCONSISTENT or self._is_steady(failure, point, number, turn):
                    yield replace(failure, turn=turn)

    def _is_steady(self, failure: Failure, point: SamplePoint, number: int, turn: int) -> bool:
        """Whether both kinds of formulas disagree equally for slightly larger inputs; else rounding is the cause."""
        off = failure.number
        if off is None:
            return True
        larger = scaled(point)
        subject = OperatorAtPoint(self._first, larger, self._namespace)
        try:
            called = subject.call(subject.point.values)
            random = partial(generator, self._seed, self._first.operator, number, turn)
            at = CheckedPoint(subject, called, self._names, random, Tally(), self.before, turn)
            again = list(check_adjoint(at, self._backward_at(at), self._forward))
        except REFUSALS as error:
            require_memory(error)
            return True
        return any(
            failure_there.number is not None and abs(failure_there.number - off) < UNSTEADY * abs(off)
            for failure_there in again
        )

    def _backward_at(self, at: CheckedPoint) -> list[FunctionSpec]:
        """The backward formulas that a node evaluates: those of arguments that need a gradient."""
        return [formula for formula in self._backward if at.subject.variables(formula.targets)]

    def _compare(self, subject: OperatorAtPoint, called: CallResult, number: int) -> Iterator[Failure]:
        """Yield the differences from the installed PyTorch at points with non-finite outputs."""
        random = partial(generator, self._seed, self._first.operator, number, 0)
        at = CheckedPoint(
            subject, called, self._names, random, self.tally, self.before, turn=_ALL_OUTPUTS, only_finite=False
        )
        self.precision = at.precision
        if not at.variables or not at.is_plain:
            return
        for of in (*self._backward, *self._forward):
            if of.kind == BACKWARD and not subject.variables(of.targets):
                continue
            self.before(of.number)
            try:
                yield from (replace(failure, turn=at.turn) for failure in unfinished_problems(at, of))
            except (MisshapenError, *REFUSALS) as error:
                require_memory(error)

    def _check(self, at: CheckedPoint, *, is_first: bool) -> Iterator[Failure]:
        failed = False
        backward = self._backward_at(at)
        for of in (*backward, *self._forward):
            self.before(of.number)
            for failure in self._failures(at, of, is_first):
                failed = failed or failure.rule != OTHER_CONVENTION
                yield failure
        if not self._complete and failed:
            return
        if backward and self._forward:
            yield from check_adjoint(at, backward, self._forward)
        if is_first and at.is_plain and len(at.variables) > 1:
            try:
                yield from check_accumulation(at, backward)
            except REFUSALS as error:
                # reported by the check of that formula
                require_memory(error)

    def _failures(self, at: CheckedPoint, of: FunctionSpec, is_first: bool) -> Iterator[Failure]:
        """Yield the failures of one formula, including an error that it raises."""
        try:
            yield from (
                self._check_backward(at, of, is_first) if of.kind == BACKWARD else self._check_forward(at, of, is_first)
            )
        except UnjudgedError:
            self.tally.unjudged += 1
        except WriteError as error:
            yield Failure(of.number, WRONG_VJP if of.kind == BACKWARD else WRONG_JVP, of.key, message=str(error))
        except REFUSALS as error:
            require_memory(error)
            # formulas may reject inputs that they do not support
            if (at.subject.point.is_meant and not isinstance(error, NotImplementedError)) or is_differentiated(at, of):
                yield Failure(of.number, CRASH, of.key, message=first_line(error))
            else:
                self.tally.unjudged += 1
                self.refusal = first_line(error)

    def _check_backward(self, at: CheckedPoint, of: FunctionSpec, is_first: bool) -> Iterator[Failure]:
        gradients = at.gradients(of, at.cotangents)
        failed = False
        for failure in check_gradients(at, of, gradients):
            failed = failed or failure.rule != OTHER_CONVENTION
            yield failure
        if (failed and not self._complete) or not is_first:
            return
        yield from check_all_undefined(at, of)
        yield from check_mask(at, of, gradients)
        if not at.is_plain:
            return
        yield from check_undefined(at, of)
        yield from check_strides(at, of, gradients)
        yield from check_embedding(at, of)
        yield from check_undifferentiated(at, of, gradients)
        if self._order > 1 and at.precision.second and not at.is_empty:
            yield from check_second_backward(at, of, self._order)

    def _check_forward(self, at: CheckedPoint, of: FunctionSpec, is_first: bool) -> Iterator[Failure]:
        failed = False
        for failure in check_tangents(at, of):
            failed = failed or failure.rule != OTHER_CONVENTION
            yield failure
        if (
            (self._complete or not failed)
            and is_first
            and at.is_plain
            and self._order > 1
            and at.precision.second
            and not at.is_empty
        ):
            yield from check_second_forward(at, of, self._order)


def _names(backward: Sequence[FunctionSpec], forward: Sequence[FunctionSpec]) -> tuple[str, ...]:
    """Return the arguments whose gradients or tangents occur in formulas."""
    names = [name for formula in backward for name in formula.targets]
    names += [name for formula in forward for name in formula.tangents]
    return tuple(dict.fromkeys(names))
