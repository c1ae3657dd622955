"""Harder inputs: variants of a sample without its special properties, or with others.

Many wrong formulas are right for the samples, which are often contiguous, of one shape, without zeros or ties, with
default arguments. A variant may be invalid for the operator; those that it rejects are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from derivlint.operators import Book
from derivlint.verify.code.functions import FunctionSpec, FunctionValue
from derivlint.verify.inputs.layouts import is_plain
from derivlint.verify.inputs.points import SamplePoint, is_inexact, mapped, require_memory

#: Maps one value to another.
Change = Callable[[Any], Any]

#: Name parts of internal operators.
_RAW = ("backward", "native_", "_native")
#: Tensors with tolerances, which are not differentiated.
_TOLERANCES = ("atol", "rtol", "tol")
#: The fraction of elements set to zero: several in a row hide each other in products.
_ZEROS = 0.25
#: The number of reduction modes.
_REDUCTIONS = 3


def is_raw(spec: FunctionSpec) -> bool:
    """Whether an operator does not validate its arguments."""
    operator = spec.operator
    topics = (Book.by_hand(topic) for topic in ("trusts-arguments", "other-layouts", "single-precision"))
    return any(operator in names for names in topics) or any(word in operator for word in _RAW)


def variants(
    point: SamplePoint, spec: FunctionSpec, random: Any, *, broadcasts: Collection[int] = ()
) -> Iterator[SamplePoint]:
    """Harder variants of a point, the most informative first.

    Args:
        point: the point.
        spec: a function of the operator.
        random: a generator of random numbers.
        broadcasts: the positions of arguments that the operator broadcasts.
    """
    fixed = {index for index, argument in enumerate(spec.arguments) if argument.name in _TOLERANCES}
    for made in _variants(point, spec, noise_of(random), broadcasts):
        yield SamplePoint([point.values[i] if i in fixed else value for i, value in enumerate(made.values)], made.label)


def _variants(
    point: SamplePoint, spec: FunctionSpec, noise: Change, broadcasts: Collection[int]
) -> Iterator[SamplePoint]:
    if is_raw(spec):
        # values between 0 and 1 stay there
        yield _numbers(point, "generic", lambda value: value * (0.6 + 0.4 * noise(value)))
        yield _numbers(point, "small", lambda value: 0.2 + 0.6 * noise(value))
        return
    yield _numbers(point, "generic", lambda value: value + 0.3 * noise(value))
    yield from _one_complex(point)
    follows_strides = spec.operator in Book.by_hand("follows-strides")
    if not follows_strides:
        yield _shapes(
            point,
            "strided",
            lambda value: value.transpose(0, -1).contiguous().transpose(0, -1) if _is_matrix(value) else value,
        )
    yield _numbers(point, "zeros", lambda value: value * (noise(value).real > _ZEROS))
    yield from _equal(point, noise)
    is_complex = any(is_inexact(value) and value.is_complex() for value in point.values)
    for position, argument in enumerate(spec.arguments):
        for label, new_value in _other_values(argument, point.values[position], is_complex=is_complex):
            yield _replaced(point, position, new_value, label)
    yield _numbers(point, "small", lambda value: 0.2 + 0.6 * noise(value))
    yield _numbers(point, "signed", lambda value: 2 * noise(value) - 0.9)
    if not follows_strides:
        if not any(isinstance(value, list) and any(map(_is_table, value)) for value in point.values):
            yield SamplePoint([squared(value, noise) for value in point.values], "sizes 2")
        yield _shapes(point, "narrow", lambda value: value[..., :-1] if value.dim() and value.shape[-1] > 1 else value)
    yield from _broadcast(point, broadcasts, noise)
    yield _numbers(point, "tied", lambda value: value if value.is_complex() else (2 * value).round() / 2)
    # singular matrices
    yield _shapes(
        point, "equal rows", lambda value: value[..., :1, :].expand_as(value).clone() if _is_matrix(value) else value
    )


def noise_of(random: Any) -> Change:
    """Return a function that generates random values between 0 and 1 with the shape and dtype of a tensor."""
    import torch

    def noise(value: Any) -> Any:
        made = torch.rand(value.shape, generator=random, dtype=torch.float64)
        if value.is_complex():
            made = torch.complex(made, torch.rand(value.shape, generator=random, dtype=torch.float64))
        return made.to(value.dtype)

    return noise


def _numbers(point: SamplePoint, label: str, change: Change) -> SamplePoint:
    """A point with other values in tensors of the same shapes and layouts."""
    return SamplePoint([mapped(value, change) for value in point.values], label)


def _shapes(point: SamplePoint, label: str, change: Change) -> SamplePoint:
    """A point with other shapes or strides of plain tensors."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(item) for item in value]
        return change(value) if is_inexact(value) and is_plain(value) else value

    return SamplePoint([changed(value) for value in point.values], label)


def _replaced(point: SamplePoint, position: int, value: Any, label: str) -> SamplePoint:
    return SamplePoint(
        [value if index == position else old_value for index, old_value in enumerate(point.values)], label
    )


# ---- arguments that are not tensors


def _other_values(argument: FunctionValue, value: Any, *, is_complex: bool) -> Iterator[tuple[str, Any]]:
    """Other values of an argument, each with a label."""
    kind = argument.type.rstrip("?")
    if kind == "bool" and isinstance(value, bool):
        yield "flipped", not value
    elif argument.type == "Tensor?" and value is not None:
        yield "absent", None
    elif is_reduction(argument):
        yield from (("reduction", reduction) for reduction in range(_REDUCTIONS) if reduction != value)
    elif isinstance(value, (int, float, complex)) and not isinstance(value, bool) and is_number(argument):
        yield "scalar", value + 0.37
        if kind == "Scalar" and is_complex:
            yield "complex scalar", value + 0.3j
    elif argument.name in ("dim", "axis") and isinstance(value, int):
        yield "dim", value + 1 if value < 0 else value - 1


def is_reduction(argument: FunctionValue) -> bool:
    """Whether an argument is the reduction mode of a loss; 0 is none."""
    return argument.name == "reduction" and argument.type == "int"


def is_number(argument: FunctionValue) -> bool:
    """Whether the argument accepts any number."""
    return argument.type.rstrip("?") in ("float", "Scalar") and argument.name not in ("eps", "epsilon")


# ---- shapes


def _is_matrix(value: Any) -> bool:
    return bool(value.dim() >= 2)


def broadcast_positions(points: Iterable[SamplePoint]) -> frozenset[int]:
    """The arguments that an operator broadcasts in one of its samples.

    Kernels may broadcast others as well, but their callers never do.
    """
    positions: set[int] = set()
    for point in points:
        tensors = {index: value for index, value in enumerate(point.values) if is_inexact(value) and is_plain(value)}
        positions.update(
            index
            for index, value in tensors.items()
            if any(_is_broadcast(value.shape, tensor.shape) for tensor in tensors.values())
        )
    return frozenset(positions)


def _is_broadcast(shape: Any, to: Any) -> bool:
    import torch

    if shape == to:
        return False
    try:
        torch.empty(shape, device="meta").expand(to)
    except RuntimeError as error:
        require_memory(error)
        return False
    return True


def _broadcast(point: SamplePoint, positions: Collection[int], noise: Change) -> Iterator[SamplePoint]:
    for position in sorted(positions):
        value = point.values[position]
        if is_inexact(value) and is_plain(value) and value.dim():
            if value.shape[-1] > 1:
                yield _replaced(point, position, value[..., :1].clone(), "broadcast")
            if value.shape[0] > 1 and value.dim() > 1:
                yield _replaced(point, position, value[:1].clone(), "broadcast")
            yield _replaced(point, position, (value + 0.1 * noise(value)).unsqueeze(0), "broadcast")


def _is_table(value: Any) -> bool:
    """Whether a value is an index tensor with several axes, whose indices are not made unique one by one."""
    import torch

    return isinstance(value, torch.Tensor) and not is_inexact(value) and value.dim() > 1


def squared(value: Any, noise: Change) -> Any:
    """A tensor with all sizes 2: some formulas that confuse sizes are right, or wrong, only there."""
    import torch

    if isinstance(value, list):
        return [squared(item, noise) for item in value]
    if not isinstance(value, torch.Tensor) or not is_plain(value) or not value.numel():
        return value
    made = value
    for axis, size in enumerate(value.shape):
        made = made.index_select(axis, torch.arange(2) % size)
    if is_inexact(made):
        # repeated elements are no longer equal
        return made + 0.1 * noise(made)
    if made.dtype == torch.bool:
        return made
    # indices that differ along every axis: for repeated ones, it may be undefined which value is kept
    return sum((torch.arange(2).view([-1] + [1] * axis) for axis in range(made.dim())), torch.zeros_like(made)) % 2


# ---- special numbers


def _equal(point: SamplePoint, noise: Change) -> Iterator[SamplePoint]:
    """Points where elements of a tensor equal another argument, where the choice is a convention.

    Finite differences cannot judge them, but the two formulas must agree.
    """
    import torch

    places = [index for index, value in enumerate(point.values) if is_inexact(value) and is_plain(value)]
    numbers = [
        value for value in point.values if isinstance(value, (int, float, complex)) and not isinstance(value, bool)
    ]
    if not places:
        return
    first = point.values[places[0]]
    replacements = [point.values[place] for place in places[1:]] + numbers[:2]
    for replacement in replacements:
        if isinstance(replacement, complex) or (isinstance(replacement, torch.Tensor) and replacement.is_complex()):
            continue
        try:
            made = torch.where(noise(first).real > 0.5, replacement, first)
        except RuntimeError as error:
            require_memory(error)
            # not of one shape
            continue
        if made.shape == first.shape:
            yield _replaced(point, places[0], made.to(first.dtype), "equal")


def _one_complex(point: SamplePoint) -> Iterator[SamplePoint]:
    """Points where only one tensor is complex: the gradients of the others must be real."""
    places = [index for index, value in enumerate(point.values) if is_inexact(value) and value.is_complex()]
    if len(places) < 2:
        return
    for place in places:
        yield SamplePoint(
            [
                value.real.clone() if index in places and index != place else value
                for index, value in enumerate(point.values)
            ],
            "one complex",
        )
