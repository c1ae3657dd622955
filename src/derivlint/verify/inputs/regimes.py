"""Special inputs, which operators accept but samples rarely have.

Each kind is derived from the first input that allows it, once for each operator and dtype. For comparisons in formulas,
inputs lie at the bounds and on both sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

from derivlint.operators import Book
from derivlint.verify.code.functions import FunctionSpec
from derivlint.verify.inputs.arguments import (
    INDICES,
    axes,
    factors,
    flags,
    inferred,
    is_index,
    parameters,
    replaced,
    signs,
    states,
    types,
)
from derivlint.verify.inputs.hardening import Change, is_number, is_raw, is_reduction, squared
from derivlint.verify.inputs.layouts import is_plain
from derivlint.verify.inputs.points import SamplePoint, is_inexact

#: The distance of inputs from a bound, on both sides.
_DISTANCE = 0.25
#: The fraction of elements replaced by bounds.
_BOUND_SHARE = 0.6
#: A distance of numbers that overflows as an exponent of e and of 2.
_FAR = 1100.0
#: The fraction of special elements.
_SPECIAL = 0.34


def regimes(
    point: SamplePoint, spec: FunctionSpec, noise: Change, words: Collection[str] = ()
) -> Iterator[SamplePoint]:
    """Special inputs derived from a point; the label names the kind.

    Args:
        point: the point.
        spec: the function whose formulas the inputs are for.
        noise: generates random values with the shape of a tensor.
        words: the strings among the recorded inputs.
    """
    places = [index for index, value in enumerate(point.values) if is_inexact(value) and is_plain(value)]
    kinds = [
        flags(point, spec),
        factors(point, spec),
        parameters(point, spec),
        _bounds(point, spec, places, noise),
    ]
    # an operator that does not validate gets other values only, and flags that do not affect the presence of arguments
    if not is_raw(spec):
        kinds += [
            itertools.chain(axes(point, spec), signs(point, spec)),
            inferred(point, spec),
            types(point, spec),
            states(point, spec, words),
            _indices(point, spec),
            itertools.chain(_not_finite(point, places, noise), _far(point, places, noise)),
            _types(point, spec),
            _singles(point),
            _numbers(point, spec),
            _views(point) if spec.operator not in Book.by_hand("follows-strides") else iter(()),
            _sizes(point),
            # losses are called with tensors of one shape, which their callers ensure
            iter(()) if any(map(is_reduction, spec.arguments)) else _coincident(point, places, noise),
            _zeros(point, places),
        ]
    # round robin, so that a small number of inputs has some of every kind
    for several in itertools.zip_longest(*kinds):
        yield from (variant for variant in several if variant is not None)


def _all(point: SamplePoint, change: Callable[[Any], Any], label: str) -> Iterator[SamplePoint]:
    """Change all plain tensors, including those in lists; yield nothing if the change has no effect."""

    def changed(value: Any) -> Any:
        if isinstance(value, list):
            return [changed(item) for item in value]
        made = change(value) if is_inexact(value) and is_plain(value) else value
        differs.append(made is not value)
        return made

    differs: list[bool] = []
    values = [changed(value) for value in point.values]
    if any(differs):
        yield SamplePoint(values, label)


# ---- numbers


def _bounds(point: SamplePoint, spec: FunctionSpec, places: list[int], noise: Change) -> Iterator[SamplePoint]:
    """Values equal to the bounds in formulas or arguments, and on both sides."""
    import torch

    numbers = [item for value in point.values for item in (value if isinstance(value, list) else [value])]
    numbers = [number for number in numbers if isinstance(number, (int, float)) and not isinstance(number, bool)]
    bounds = list(dict.fromkeys([*spec.bounds, *map(float, numbers[:3])]))
    yield from _among(point, [*bounds, 0.0, 1.0, -1.0], noise)
    for bound, (label, sign) in itertools.product(() if places else bounds[:6], (("above", 1), ("below", -1))):

        def beside(value: Any, bound: float = bound, by: float = sign * _DISTANCE) -> Any:
            return bound + by * (1 + noise(value))

        yield from _all(point, beside, f"{label} {bound:g}")
    for place, bound in itertools.product(places[:2], bounds[:6]):
        value = point.values[place]
        if value.is_complex() or not value.numel():
            continue
        chosen = (noise(value) * 3).floor() - 1
        for label, made in (
            ("at", torch.full_like(value, bound)),
            ("around", bound + chosen * _DISTANCE * (1 + noise(value))),
            ("above", bound + _DISTANCE + noise(value)),
            ("below", bound - _DISTANCE - noise(value)),
        ):
            yield replaced(point, {place: made}, f"{label} {bound:g} ({spec.arguments[place].name})")


def _among(point: SamplePoint, bounds: list[float], noise: Change) -> Iterator[SamplePoint]:
    """Points with half of the values of all tensors equal to bounds."""
    import torch

    chosen = torch.tensor(bounds, dtype=torch.float64)

    def among(value: Any) -> Any:
        if value.is_complex() or not value.numel():
            return value
        picked = chosen[(noise(value).double() * len(bounds)).long().clamp_max(len(bounds) - 1)].to(value.dtype)
        return torch.where(noise(value) < _BOUND_SHARE, picked, value)

    yield from _all(point, among, "among bounds")
    yield from _all(point, among, "among bounds again")


def _not_finite(point: SamplePoint, places: list[int], noise: Change) -> Iterator[SamplePoint]:
    """NaN and infinities in some elements of one argument."""
    for place in reversed(places):
        value = point.values[place]
        if value.numel():
            chosen = noise(value).real < _SPECIAL
            chosen[(0,) * value.dim()] = True
            for label, number in (("nan", math.nan), ("infinite", math.inf), ("minus infinite", -math.inf)):
                yield replaced(point, {place: value.masked_fill(chosen, number)}, f"{label} {place}")
                # next to values for which most operators are finite
                small = 0.2 + 0.6 * noise(value)
                yield replaced(point, {place: small.masked_fill(chosen, number)}, f"{label} {place}, else small")


def _far(point: SamplePoint, places: list[int], noise: Change) -> Iterator[SamplePoint]:
    """Vectors with numbers whose distance from others overflows as an exponent; matrices become too inaccurate."""
    size = min((point.values[place].numel() for place in places), default=0)
    vectors = {place: point.values[place].reshape(-1)[:size] for place in places if size}
    for place, value in vectors.items():
        moved = value + _FAR * (noise(value).real < _SPECIAL)
        yield replaced(point, {**vectors, place: moved}, f"far {place}")


def _zeros(point: SamplePoint, places: list[int]) -> Iterator[SamplePoint]:
    """One zero, two zeros in each row, and zeros only."""
    for place in places[:2]:
        value = point.values[place]
        if not value.dim() or not value.numel():
            continue
        for count in (1, 2):
            made = value.clone()
            made[..., :count] = 0
            yield replaced(point, {place: made}, f"{count} zero {place}")
        yield replaced(point, {place: value * 0}, f"zeros {place}")
        # rows with zero norm or deviation, next to others
        row = value[0] if value.dim() > 1 else value
        for label, other_row in (("zero row", row * 0), ("equal elements", row * 0 + row.flatten()[0])):
            made = value.clone()
            made[(0,) if value.dim() > 1 else ...] = other_row
            yield replaced(point, {place: made}, f"{label} {place}")
    for index, value in enumerate(point.values):
        if isinstance(value, list) and value and all(map(is_inexact, value)):
            yield replaced(point, {index: [item * 0 for item in value]}, f"zeros {index}")


def _indices(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Index tensors with equal, negative, 32-bit and no indices."""
    for index, argument in enumerate(spec.arguments):
        value = point.values[index]
        if argument.name not in INDICES or not any(map(is_index, value if isinstance(value, list) else [value])):
            continue

        def changed(change: Change, value: Any = value) -> Any:
            return _each(value, lambda item: change(item) if is_index(item) else item)

        repeated = changed(lambda item: item.new_full(item.shape, int(item.flatten()[0])))
        yield replaced(point, {index: repeated}, f"repeated {argument.name}", is_meant=True)
        yield replaced(
            point,
            {index: changed(lambda item: item.masked_fill(item == item.max(), -1))},
            f"negative {argument.name}",
            is_meant=True,
        )
        # not every operator takes them
        yield replaced(point, {index: changed(lambda item: item.int())}, f"int32 {argument.name}")
        yield replaced(point, {index: changed(lambda item: item[:0] if item.dim() else item)}, f"no {argument.name}")


def _singles(point: SamplePoint) -> Iterator[SamplePoint]:
    """Single precision mixed with double precision, the last tensor first: most formulas have the type of the first."""
    import torch

    values = {index: value for index, value in enumerate(point.values) if _is_real(value)}
    for index, value in reversed(values.items()) if len(values) > 1 else ():
        single = _each(value, lambda item: item.to(torch.float32))
        yield replaced(point, {index: single}, f"single {index}", is_meant=True)


def _types(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Integers and booleans in one tensor, single precision in one of a list."""
    import torch

    values = {index: value for index, value in enumerate(point.values) if _is_real(value)}
    first = next(iter(values), None)
    # targets are often labels
    is_loss = any(map(is_reduction, spec.arguments))
    # targets first, else the first one, so that a gradient alone is needed
    for index, value in (reversed(values.items()) if is_loss else values.items()) if len(values) > 1 else ():
        integers = _each(value, lambda item: (item * 2).round().to(torch.int64))
        yield replaced(point, {index: integers}, f"integers {index}", is_meant=is_loss and index != first)
        yield replaced(point, {index: _each(value, lambda item: item > 0)}, f"booleans {index}")
        negative = {position: _each(item, lambda part: -part.abs()) for position, item in values.items()}
        yield replaced(point, {**negative, index: integers}, f"negative, integers {index}")
    for index, value in enumerate(point.values):
        if isinstance(value, list) and len(value) > 1 and index in values:
            yield replaced(
                point, {index: [value[0].to(torch.float32), *value[1:]]}, f"one single of {index}", is_meant=True
            )
        if isinstance(value, float) and math.isfinite(value):
            yield replaced(point, {index: round(value)}, f"integer {index}")


def _is_real(value: Any) -> bool:
    """Whether a value is a real tensor, or a list of them."""
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(is_inexact(item) and is_plain(item) and not item.is_complex() for item in items)


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    return [change(item) for item in value] if isinstance(value, list) else change(value)


def _numbers(point: SamplePoint, spec: FunctionSpec) -> Iterator[SamplePoint]:
    """Scalar arguments with the opposite sign and zero."""
    for index, argument in enumerate(spec.arguments):
        value = point.values[index]
        is_list = argument.type == "Scalar[]" and isinstance(value, list)
        numbers = value if is_list else [value]
        if not (is_list or is_number(argument)) or not all(type(number) in (int, float) for number in numbers):
            continue
        for label, sign in (("negative", -1), ("zero", 0)):
            made = [sign * number for number in numbers]
            yield replaced(point, {index: made if is_list else made[0]}, f"{label} {argument.name}")


# ---- views and sizes


def _views(point: SamplePoint) -> Iterator[SamplePoint]:
    """Equal values in lazily conjugated, negated, transposed or strided tensors."""
    import torch

    def conjugated(value: Any) -> Any:
        return torch.conj(value.conj().resolve_conj()) if value.is_complex() else value

    def negated(value: Any) -> Any:
        return torch._neg_view(-value)

    def stepped(value: Any) -> Any:
        if not value.dim():
            return value
        wide = torch.stack([value, value], -1)
        return wide[..., 0]

    yield from _all(point, conjugated, "conjugated")
    yield from _all(point, negated, "negated")
    yield from _all(point, stepped, "stepped")


def _sizes(point: SamplePoint) -> Iterator[SamplePoint]:
    """Tensors without dimensions, with one element, empty, without batch dimension, and smaller index tensors."""
    import torch

    indices = [
        (index, value)
        for index, value in enumerate(point.values)
        if isinstance(value, torch.Tensor) and value.dtype == torch.int64
    ]
    words = "".join(f", {value}" for value in point.values if isinstance(value, str))
    for index, value in indices:
        for axis, size in enumerate(value.shape):
            if size > 1:
                # for another string it is another formula
                yield replaced(point, {index: value.narrow(axis, 0, size - 1)}, f"smaller index {axis}{words}")
    if indices:
        # size arguments only describe the original tensors
        return
    yield from _all(point, lambda value: value.reshape(-1)[0] if value.numel() else value, "0-dim")
    yield from _all(point, lambda value: value[:0] if value.dim() else value, "empty")
    yield from _all(point, lambda value: value[tuple(slice(0, 1) for _ in value.shape)], "one element")
    yield from _all(point, lambda value: value[..., :0] if value.dim() > 1 else value, "no columns")
    yield from _all(point, lambda value: value[:1] if value.dim() else value, "one row")
    yield from _all(point, lambda value: value[..., :1] if value.dim() else value, "one column")
    yield from _all(point, lambda value: value[0] if value.dim() > 2 and len(value) else value, "no batch")
    yield from _all(point, lambda value: value.unsqueeze(0) if value.dim() == 2 else value, "batch of one")


def _coincident(point: SamplePoint, places: list[int], noise: Change) -> Iterator[SamplePoint]:
    """Yield batches with as many matrices as rows and columns, where formulas confuse vectors and matrices."""
    made = {place: squared(point.values[place], noise) for place in places if point.values[place].numel()}
    matrices = {place: value for place, value in made.items() if value.dim() > 1}

    def batch(value: Any) -> Any:
        many = value.expand(2, *value.shape)
        return many * (1 + 0.1 * noise(many))

    batches = {place: value if value.dim() > 2 else batch(value) for place, value in matrices.items()}
    if batches:
        yield replaced(point, batches, "as many matrices as rows")
    for place, value in matrices.items() if len(matrices) > 1 else ():
        single = value[(0,) * (value.dim() - 2)]
        yield replaced(point, {**batches, place: single}, f"as many matrices as rows, one for {place}")
