"""The precision of elementwise formulas in low precision: all half-precision numbers, and a grid of float32.

A formula is evaluated on the same numbers in low and in double precision; the difference is measured in units in the
last place. A gradient is lost if it is zero, infinite or NaN although the exact one is representable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from derivlint.operators import Book
from derivlint.verify.base import corresponds
from derivlint.verify.code.functions import BACKWARD, FunctionSpec
from derivlint.verify.comparison.exact import double_precision, written
from derivlint.verify.comparison.numeric import CallResult, OperatorAtPoint, tensors
from derivlint.verify.inputs.hardening import is_reduction
from derivlint.verify.inputs.layouts import is_plain
from derivlint.verify.inputs.points import (
    CPU,
    REFUSALS,
    SamplePoint,
    call,
    generator,
    is_inexact,
    placed,
    require_memory,
)
from derivlint.verify.inputs.recipes import recorded_points
from derivlint.verify.inputs.stored import Inputs

#: The measured dtypes.
DTYPES = ("float16", "bfloat16", "float32")
#: The number of values of each dtype: all bit patterns of 16 bits.
COUNT = 1 << 16
#: The number of values used to test whether an operator is elementwise.
_TRIED = 64
#: In further arguments, one in this many values is 0, and one is 1.
_PERIOD = 16
#: The error in units in the last place up to which values count as equal.
_EQUAL = 1.0
#: The smallest number for operators whose kernels count up from it, in steps of one.
_LOWEST_COUNTED = -1024.0
#: The measured derivatives.
GRADIENT, TANGENT, SECOND = "gradient", "tangent", "second derivative"

#: A derivative: its kind, its target, the function, and its values in low and double precision.
_Derivative = tuple[str, str, FunctionSpec, tuple[Any, Any]]


def grid(dtype: str) -> Any:
    """Values of a dtype: all finite ones of 16 bits, or as many of 32 bits, with random last bits."""
    import torch

    bits = torch.arange(COUNT, dtype=torch.int64)
    if dtype == "float32":
        bits = (bits << 16) | torch.randint(0, COUNT, (COUNT,), generator=generator(0, "grid"))
    whole, half = (1 << 32, torch.int32) if dtype == "float32" else (COUNT, torch.int16)
    # the upper half of the bit patterns are negative integers
    made = bits.where(bits < whole // 2, bits - whole).to(half).view(getattr(torch, dtype))
    return made[made.isfinite()]


def measured(
    functions: Sequence[FunctionSpec], base: Sequence[FunctionSpec], recorded: Inputs, namespace: Any, device: str = CPU
) -> Iterator[dict[str, Any]]:
    """Measure the precision of an operator's functions.

    Args:
        functions: the functions.
        base: the functions of an earlier version.
        recorded: recorded inputs, for the non-tensor arguments.
        namespace: the namespace of the functions.
        device: the device type.
    """
    first = functions[0]
    points = (_unreduced(first, point) for point in recorded_points(first, recorded))
    point = next((candidate for candidate in points if _is_elementwise(first, candidate)), None)
    if point is None:
        return
    for dtype in DTYPES:
        numbers = grid(dtype)
        if first.operator in Book.by_hand("counts-up"):
            # in 16 bits, all values below are integers, where such operators have poles
            numbers = numbers[numbers > _LOWEST_COUNTED]
        values = placed(SamplePoint(_values(point, numbers)), device).values
        few = next(value.dtype for value in values if is_inexact(value))
        before = list(_both(base, values, namespace)) if base else []
        for kind, target, of, (low, high) in _both(functions, values, namespace):
            message = _message(low, high, values, few, first)
            if message is None:
                continue
            places = message.pop("places")
            moved = of.tangents if kind == TANGENT else (target,)
            exact = [value.double() if is_inexact(value) else value for value in values]
            message |= double_precision(first, exact, moved, 2 if kind == SECOND else 1, high, places)
            earlier = next(
                (
                    derivative
                    for derivative in before
                    if derivative[:2] == (kind, target) and corresponds(derivative[2], of)
                ),
                None,
            )
            if earlier is not None and earlier[2].number != of.number:
                message |= _difference(low, earlier[3][0], high, few)
            yield {"precision": of.number, "dtype": dtype, "kind": kind, "what": target, **message}


def _unreduced(of: FunctionSpec, point: SamplePoint) -> SamplePoint:
    """A point at which a loss is not reduced."""
    pairs = zip(of.arguments, point.values, strict=True)
    return SamplePoint([0 if is_reduction(argument) else value for argument, value in pairs], point.label)


def _is_elementwise(of: FunctionSpec, point: SamplePoint) -> bool:
    """Whether the operator is elementwise at a point, so that its tensors can be replaced by vectors."""
    import torch

    tensors_at_point = [value for value in point.values if isinstance(value, torch.Tensor)]
    if not tensors_at_point or not all(is_inexact(value) and is_plain(value) for value in tensors_at_point):
        return False
    numbers = 4 * torch.rand(_TRIED, generator=generator(0, "elementwise"), dtype=torch.float64)
    half = _TRIED // 2
    values = _values(point, numbers)
    changes = [torch.cat([numbers.new_ones(half), numbers.new_full((half,), 0.5)])]
    changes.append(changes[0].flip(0))
    changed_values = [[value * change if is_inexact(value) else value for value in values] for change in changes]
    try:
        one, *rest = (
            [item for item in tensors(call(of.operator, arguments)) if is_inexact(item)]
            for arguments in (values, *changed_values)
        )
    except REFUSALS as error:
        require_memory(error)
        return False
    return any(item.shape == numbers.shape for item in one) and all(
        torch.equal(before[change == 1].nan_to_num(), after[change == 1].nan_to_num())
        for changed, change in zip(rest, changes, strict=True)
        for before, after in zip(one, changed, strict=True)
        if before.shape == numbers.shape
    )


def _values(point: SamplePoint, numbers: Any) -> list[Any]:
    """The arguments with the values in the first tensor, and permutations of them in the others.

    Some values of the others are 0 and 1, where differences cancel.
    """
    import torch

    made, count = [], 0
    places = torch.arange(numbers.numel())
    for value in point.values:
        if is_inexact(value):
            order = torch.randperm(numbers.numel(), generator=generator(0, "order", count))
            value = numbers
            if count:
                value = numbers[order].masked_fill(places % _PERIOD == 0, 0).masked_fill(places % _PERIOD == 1, 1)
            count += 1
        made.append(value)
    return made


def _both(functions: Sequence[FunctionSpec], values: list[Any], namespace: Any) -> Iterator[_Derivative]:
    """Yield the derivatives of functions, in low and in double precision."""
    exact = [value.double() if is_inexact(value) else value for value in values]
    low = _unit_derivatives(functions, values, namespace)
    high = _unit_derivatives(functions, exact, namespace)
    for key, (low_value, _) in low.items():
        if key in high and low_value.shape == high[key][0].shape:
            of = next(function for function in functions if function.number == key[2])
            right, is_defined = high[key]
            # outside of the operator's domain there is no correct derivative
            yield key[0], key[1], of, (low_value.double(), right.masked_fill(~is_defined, math.nan))


def _unit_derivatives(
    functions: Sequence[FunctionSpec], values: list[Any], namespace: Any
) -> dict[tuple[str, str, int], tuple[Any, Any]]:
    """The derivatives for incoming gradients and tangents of ones, each with the mask of finite outputs."""
    import torch

    subject = OperatorAtPoint(functions[0], SamplePoint(values), namespace)
    derivatives: dict[tuple[str, str, int], tuple[Any, Any]] = {}
    try:
        with torch.no_grad():
            called = subject.call(subject.point.values)
    except REFUSALS as error:
        require_memory(error)
        return derivatives
    shapes = [item.shape for item in called.outputs if item is not None]
    defined = [item.isfinite() for item in called.outputs if is_inexact(item) and item.shape == shapes[0]]

    def keep(kind: str, target: str, number: int, value: Any) -> None:
        if value.shape == defined[0].shape:
            derivatives[kind, target, number] = value.detach(), defined[0]

    if not defined:
        return derivatives
    ones = [torch.ones_like(item) if is_inexact(item) else None for item in called.outputs]
    for of in functions:
        try:
            if of.kind == BACKWARD:
                _record_gradients(keep, of, subject, called, ones)
            else:
                variables = subject.variables(of.tangents)
                tangents = subject.push_forward(
                    of, called, {variable: torch.ones_like(subject.tensor(variable)) for variable in variables}
                )
                if tangents and tangents[0] is not None:
                    keep(TANGENT, of.key, of.number, tangents[0])
        except REFUSALS as error:
            require_memory(error)
    return derivatives


def _record_gradients(
    keep: Callable[[str, str, int, Any], None],
    of: FunctionSpec,
    subject: OperatorAtPoint,
    called: CallResult,
    ones: list[Any],
) -> None:
    """Record the gradients of a backward formula, and their derivatives if they have any."""
    import torch

    leaves = {
        variable: subject.tensor(variable).detach().requires_grad_()
        for variable in subject.variables(of.with_gradients)
    }
    again = subject.call(subject.with_tensors(leaves)) if not called.originals else called
    gradients = subject.pull_back(of, again, ones, subject.needs(of))
    for variable, gradient in zip(subject.targets(of), gradients, strict=True):
        if gradient is None or variable not in leaves or gradient.shape != subject.tensor(variable).shape:
            continue
        keep(GRADIENT, variable[0], of.number, gradient)
        if gradient.requires_grad:
            (second,) = torch.autograd.grad(gradient.sum(), [leaves[variable]], allow_unused=True, retain_graph=True)
            if second is not None:
                keep(SECOND, variable[0], of.number, second)


def _errors(low: Any, high: Any, kind: Any) -> tuple[Any, Any, Any]:
    """The masks of judged and of lost values, and the errors of the others in units in the last place.

    Args:
        low: the low-precision values, as double precision.
        high: the double-precision values.
        kind: the low-precision dtype.
    """
    import torch

    limits = torch.finfo(kind)
    size = high.abs()
    can_be_written = high.isfinite() & (size <= limits.max)
    lost = can_be_written & (~low.isfinite() | ((low == 0) & (size >= limits.smallest_normal)))
    unit = torch.exp2(torch.floor(torch.log2(size.clamp_min(limits.smallest_normal)))) * limits.eps
    off = torch.where(can_be_written & ~lost, (low - high).abs() / unit, torch.zeros_like(high))
    return can_be_written, lost, off


def _message(low: Any, high: Any, values: list[Any], kind: Any, of: FunctionSpec) -> dict[str, Any] | None:
    """Return the message about a derivative, or None if no value can be judged."""
    judged, lost, off = _errors(low, high, kind)
    if not bool(judged.any()):
        return None
    worst = int(off.argmax())
    # the largest lost gradient
    place = int(high.abs().masked_fill(~lost, -1).argmax())
    return {
        "inputs": int(judged.sum()),
        "ulps": float(off[worst]),
        "ulps_at": _reported(values, worst, of, low, high),
        "lost": int(lost.sum()),
        "lost_at": _reported(values, place, of, low, high) if bool(lost.any()) else "",
        "places": [worst, place],
    }


def _difference(low: Any, before: Any, high: Any, kind: Any) -> dict[str, Any]:
    """Count the values at which a formula is better, and worse, than its earlier version.

    Args:
        low: its low-precision values.
        before: those of the earlier version.
        high: its double-precision values.
        kind: the low-precision dtype.
    """
    judged, lost, off = _errors(low, high, kind)
    _, lost_before, off_before = _errors(before, high, kind)
    now, then = off.masked_fill(lost, math.inf), off_before.masked_fill(lost_before, math.inf)
    return {
        "better": int((judged & (now + _EQUAL < then)).sum()),
        "worse": int((judged & (then + _EQUAL < now)).sum()),
        "ulps_before": float(off_before.max()),
        "lost_before": int(lost_before.sum()),
    }


def _reported(values: list[Any], place: int, of: FunctionSpec, low: Any, high: Any) -> str:
    """The inputs at an index, with the values of the formula there."""
    pairs = ((argument.name, value) for argument, value in zip(of.arguments, values, strict=True))
    at = written(((name, float(value[place]) if is_inexact(value) else value) for name, value in pairs))
    return f"{at}: {float(low[place]):.6g}, right is {float(high[place]):.6g}"
