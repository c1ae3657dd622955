"""Reductions, scans, and selections along a dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul

from derivlint.analysis.scalar_evaluation.values import real_only
from derivlint.analysis.small_tensors.tensor import (
    SmallTensor,
    Value,
    broadcast_map,
    count_of,
    helper,
    linear_indices,
    operator,
    operators,
    reduction_groups,
    tensor_of,
)
from derivlint.operators.shapes import size_functions as sizes_by
from derivlint.operators.shapes.size_values import Sizes, SizesError

#: The default of a dimension for which ``None`` has another meaning.
_ALL = "all"


def axes_of(dims: Value, rank: int) -> frozenset[int]:
    """The nonnegative indices of dimensions, by default of all."""
    if dims is None or dims == ():
        return frozenset(range(rank))
    named = (dims,) if type(dims) is int else dims
    count = max(rank, 1)
    axes = frozenset(dim % count for dim in named)
    if len(axes) < len(named) or not all(-count <= dim < count for dim in named):
        raise SizesError
    return axes


def reduced(
    function: Callable[[Sequence[Value]], Value], tensor: Value, dims: Value = None, keepdim: Value = False
) -> SmallTensor:
    """Reduce the elements of some dimensions by a function."""
    items, sizes = tensor_of(tensor).items, tensor.sizes
    result_sizes = sizes_by.reduced(sizes, dims, keepdim)
    taken = reduction_groups(sizes, axes_of(dims, len(sizes)))
    return SmallTensor(result_sizes, [function([items[at] for at in group]) for group in taken])


def along_axis(tensor: SmallTensor, axis: int, function: Callable[[Sequence[Value]], Sequence[Value]]) -> SmallTensor:
    """Apply a function along a dimension; it returns a fixed number of elements."""
    taken = reduction_groups(tensor.sizes, frozenset({axis}))
    parts = [function([tensor.items[at] for at in group]) for group in taken]
    sizes = sizes_by.resized(tensor.sizes, axis, len(parts[0]) if parts else 0)
    result = [0.0] * count_of(sizes)
    for part, group in zip(parts, reduction_groups(sizes, frozenset({axis})), strict=True):
        for at, value in zip(group, part, strict=True):
            result[at] = value
    return SmallTensor(sizes, result)


def scanned(function: Callable[[Sequence[Value]], Sequence[Value]], tensor: Value, dim: Value) -> SmallTensor:
    """Apply a function along a dimension; it preserves the number of elements."""
    items, sizes = tensor_of(tensor).items, tensor.sizes
    result = list(items)
    for group in reduction_groups(sizes, axes_of(dim, len(sizes))):
        for at, value in zip(group, function([items[at] for at in group]), strict=True):
            result[at] = value
    return SmallTensor(sizes, result)


# ---- sums


@operator()
def nansum(self: Value, dim: Value = None, keepdim: Value = False, _dtype: Value = None) -> Value:
    """The sum of all elements that are not NaN."""
    return reduced(lambda items: sum(item for item in items if not math.isnan(item)), self, dim, keepdim)


def mean_of(items: Sequence[Value]) -> Value:
    """The mean of numbers."""
    return sum(items) / len(items)


@operator()
def prod(self: Value, dim: Value = None, keepdim: Value = False, _dtype: Value = None) -> Value:
    """The product."""
    return reduced(math.prod, self, dim, keepdim)


def logarithm_of_sum(items: Sequence[Value]) -> Value:
    """The logarithm of the sum of exponentials."""
    largest = max(items)
    return largest + math.log(sum(math.exp(item - largest) for item in items))


def _norm(p: Value) -> Callable[[Sequence[Value]], Value]:
    if p == math.inf:
        return lambda items: max(map(abs, items))
    if p == -math.inf:
        return lambda items: min(map(abs, items))
    if p == 0:
        return lambda items: float(sum(item != 0 for item in items))
    return lambda items: sum(abs(item) ** p for item in items) ** (1 / p)


@operator()
def norm(self: Value, p: Value = 2, dim: Value = None, keepdim: Value = False, _dtype: Value = None) -> Value:
    """The norm of order ``p``, which may be 0 or infinite, over ``dim``."""
    return reduced(_norm(2 if p is None else p), self, dim, keepdim)


operators(
    {
        "sum _sparse_sum": lambda self, dim=None, keepdim=False, _dtype=None: reduced(sum, self, dim, keepdim),
        "mean": lambda self, dim=None, keepdim=False, _dtype=None: reduced(mean_of, self, dim, keepdim),
        "logsumexp": lambda self, dim, keepdim=False: reduced(logarithm_of_sum, self, dim, keepdim),
        "all": lambda self, dim=None, keepdim=False: reduced(all, self, dim, keepdim),
        "any": lambda self, dim=None, keepdim=False: reduced(any, self, dim, keepdim),
        "linalg_vector_norm": lambda self, ord=2, dim=None, keepdim=False, _dtype=None: norm(self, ord, dim, keepdim),
        "dist": lambda self, other, p=2: norm(broadcast_map(lambda one, two: one - two, self, other), p),
    }
)


# ---- scans


@operator()
def logcumsumexp(self: Value, dim: Value) -> Value:
    """The logarithms of cumulative sums of exponentials."""
    return scanned(lambda items: [logarithm_of_sum(items[: at + 1]) for at in range(len(items))], self, dim)


@operator("_log_softmax")
def log_softmax(self: Value, dim: Value, _half_to_float: Value = False, _dtype: Value = None) -> Value:
    """The logarithm of softmax."""

    def along(items: Sequence[Value]) -> list[Value]:
        total = logarithm_of_sum(items)
        return [item - total for item in items]

    return scanned(along, self, dim)


@operator("_softmax", "_safe_softmax")
def softmax(self: Value, dim: Value, _half_to_float: Value = False, _dtype: Value = None) -> Value:
    """Softmax."""
    return broadcast_map(math.exp, log_softmax(self, dim))


def products_of_others(tensor: Value, dim: Value) -> Value:
    """The product of all other elements along a dimension."""

    def along(items: Sequence[Value]) -> list[Value]:
        return [math.prod(items[:at]) * math.prod(items[at + 1 :]) for at in range(len(items))]

    return scanned(along, tensor, dim)


@helper()
def cumprod_backward(grad: Value, input: Value, dim: Value, output: Value) -> Value:
    """For each element, the sum of the weighted products that contain it, divided by it."""

    def along(items: Sequence[Value]) -> list[Value]:
        gradients, factors, products = zip(*items, strict=True)
        if all(factors):
            sums = list(accumulate(map(mul, reversed(gradients), reversed(products))))
            return [total / factor for total, factor in zip(reversed(sums), factors, strict=True)]
        gradient = []
        for at in range(len(items)):
            rest = accumulate(factors[at + 1 :], mul, initial=math.prod(factors[:at]))
            gradient.append(sum(map(mul, gradients[at:], rest)))
        return gradient

    return scanned(along, _joined(grad, input, output), dim)


def _joined(*tensors: Value) -> SmallTensor:
    """A tensor of tuples with the elements of tensors of equal sizes."""
    sizes = tensor_of(tensors[0]).sizes
    if any(tensor_of(tensor).sizes != sizes for tensor in tensors):
        raise SizesError
    return SmallTensor(sizes, list(zip(*[tensor.items for tensor in tensors], strict=True)))


@helper()
def cumprod_jvp(self_t: Value, self_p: Value, _result: Value, dim: Value) -> Value:
    """The sum of the products with one factor replaced by its tangent."""

    def along(items: Sequence[Value]) -> list[Value]:
        tangents = []
        product, tangent = 1.0, 0.0
        for moves, factor in items:
            product, tangent = product * factor, tangent * factor + product * moves
            tangents.append(tangent)
        return tangents

    return scanned(along, _joined(self_t, self_p), dim)


operators(
    {
        "cumsum": lambda self, dim, _dtype=None: scanned(lambda items: list(accumulate(items)), self, dim),
        "cumprod": lambda self, dim, _dtype=None: scanned(lambda items: list(accumulate(items, mul)), self, dim),
    }
)


# ---- selections


def chosen(tensor: Value, dim: Value, keepdim: Value, choose: Callable[[Sequence[Value]], int]) -> Value:
    """Select one element along a dimension, with its index."""
    positions = reduced(choose, tensor, dim, keepdim)
    items = tensor_of(tensor).items
    taken = reduction_groups(tensor.sizes, axes_of(dim, len(tensor.sizes)))
    values = [items[group[at]] for group, at in zip(taken, positions.items, strict=True)]
    return SmallTensor(positions.sizes, values), positions


def _greatest(items: Sequence[Value]) -> int:
    return items.index(max(items))


def _least(items: Sequence[Value]) -> int:
    return items.index(min(items))


def _ranked(items: Sequence[Value]) -> list[int]:
    return sorted(range(len(items)), key=items.__getitem__)


def _middle(items: Sequence[Value]) -> int:
    return _ranked(items)[(len(items) - 1) // 2]


@operator("amax")
def amax(self: Value, dim: Value = (), keepdim: Value = False) -> Value:
    """The maximum."""
    return reduced(max, self, dim, keepdim)


@operator("amin")
def amin(self: Value, dim: Value = (), keepdim: Value = False) -> Value:
    """The minimum."""
    return reduced(min, self, dim, keepdim)


@operator("max")
def max_(self: Value, dim: Value = _ALL, keepdim: Value = False, other: Value = None) -> Value:
    """The maximum, with its index if a dimension is specified; or the greater of two."""
    if other is not None:
        return broadcast_map(lambda one, two: max(real_only(one), real_only(two)), self, other)
    return amax(self) if dim == _ALL else chosen(self, dim, keepdim, _greatest)


@operator("min")
def min_(self: Value, dim: Value = _ALL, keepdim: Value = False, other: Value = None) -> Value:
    """The minimum, with its index if a dimension is specified; or the smaller of two."""
    if other is not None:
        return broadcast_map(lambda one, two: min(real_only(one), real_only(two)), self, other)
    return amin(self) if dim == _ALL else chosen(self, dim, keepdim, _least)


@operator("median", "nanmedian")
def median(self: Value, dim: Value = _ALL, keepdim: Value = False) -> Value:
    """The median, with its index if a dimension is specified."""
    if dim == _ALL:
        return reduced(lambda items: items[_middle(items)], self)
    return chosen(self, dim, keepdim, _middle)


@operator()
def mode(self: Value, dim: Value = -1, keepdim: Value = False) -> Value:
    """The most frequent element, the smallest of ties, and its index."""
    return chosen(
        self, dim, keepdim, lambda items: items.index(min(items, key=lambda item: (-items.count(item), item)))
    )


def _ordered(tensor: Value, dim: Value, order: Callable[[Sequence[Value]], Sequence[int]]) -> Value:
    """Reorder or select elements along a dimension; return them and their indices."""
    items, sizes = tensor_of(tensor).items, tensor.sizes
    (axis,) = axes_of(dim, len(sizes))
    taken = reduction_groups(sizes, frozenset({axis}))
    orders = [order([items[at] for at in group]) for group in taken]
    result_sizes = sizes_by.resized(sizes, axis, len(orders[0]))
    values, indices = [0.0] * math.prod(result_sizes), [0] * math.prod(result_sizes)
    for group, positions, into in zip(taken, orders, reduction_groups(result_sizes, frozenset({axis})), strict=True):
        for at, position in zip(into, positions, strict=True):
            values[at], indices[at] = items[group[position]], position
    return SmallTensor(result_sizes, values), SmallTensor(result_sizes, indices)


@operator()
def sort(self: Value, dim: Value = -1, descending: Value = False, _stable: Value = None) -> Value:
    """Sort the elements; return them and their indices."""
    return _ordered(self, dim, lambda items: _ranked(items)[:: -1 if descending else 1])


@operator()
def topk(self: Value, k: Value, dim: Value = -1, largest: Value = True, _sorted: Value = True) -> Value:
    """The greatest or smallest elements, and their indices."""
    return _ordered(self, dim, lambda items: _ranked(items)[:: -1 if largest else 1][:k])


def _extremes(tensor: Value, dim: Value, choose: Callable[[Sequence[Value]], int]) -> Value:
    at = scanned(lambda items: [choose(items[: end + 1]) for end in range(len(items))], tensor, dim)
    values = scanned(lambda items: [items[choose(items[: end + 1])] for end in range(len(items))], tensor, dim)
    return values, at


operators(
    {
        "aminmax": lambda self, dim=None, keepdim=False: (amin(self, dim, keepdim), amax(self, dim, keepdim)),
        "kthvalue": lambda self, k, dim=-1, keepdim=False: chosen(
            self, dim, keepdim, lambda items: _ranked(items)[k - 1]
        ),
        # the cumulative maximum and its index
        "cummax": lambda self, dim: _extremes(self, dim, _greatest),
        # the cumulative minimum and its index
        "cummin": lambda self, dim: _extremes(self, dim, _least),
    }
)


# ---- primitives of definitions


def unreduced(tensor: Value, dims: Value, keepdim: Value = False, rank: Value = None) -> Value:
    """Restore reduced dimensions, with size one."""
    return SmallTensor(sizes_by.unreduced(tensor_of(tensor).sizes, dims, keepdim, rank), tensor.items)


def halves(tensor: Value, dim: Value) -> Value:
    """The first and the second half."""
    first, second = sizes_by.halves(tensor_of(tensor).sizes, dim)
    (axis,) = axes_of(dim, len(tensor.sizes))
    at = reduction_groups(tensor.sizes, frozenset(range(len(tensor.sizes))) - {axis})
    size = first[axis]
    parts = []
    for part_sizes, slices in ((first, at[:size]), (second, at[size:])):
        taken = sorted(place for group in slices for place in group)
        parts.append(SmallTensor(Sizes(part_sizes), [tensor.items[place] for place in taken]))
    return tuple(parts)


def by_channel(values: Value, tensor: Value) -> Value:
    """Reshape one value per channel for broadcasting."""
    if values is None:
        return None
    return SmallTensor(sizes_by.by_channel(tensor_of(values).sizes, tensor_of(tensor).sizes), values.items)


def numbered(sizes: Sequence[int]) -> SmallTensor:
    """A tensor of the linear indices of its elements."""
    return linear_indices(sizes)
