"""Operators that read and write elements by index or mask."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from derivlint.analysis.small_tensors.reduce_ops import axes_of
from derivlint.analysis.small_tensors.tensor import (
    SmallTensor,
    Value,
    broadcast_map,
    broadcast_to,
    coordinates,
    count_of,
    filled,
    helper,
    linear_indices,
    number_of,
    operator,
    operators,
    strided_indices,
    strides_of,
    tensor_of,
)
from derivlint.analysis.small_tensors.view_ops import add_at, put_at
from derivlint.operators.shapes import size_functions as sizes_by
from derivlint.operators.shapes.size_values import Sizes, SizesError


class PositionError(SizesError):
    """An index that PyTorch rejects: out of range, or not an integer."""


def _wrapped(index: Value, size: int) -> Value:
    if not -size <= index < size:
        if type(index) is not int:
            raise SizesError
        raise PositionError(f"the index {index} is out of range for {size} elements")
    # where() makes an index and zeros of another dtype floating-point numbers
    return int(index) % size


def _index_of(value: Value) -> SmallTensor:
    """Validate an index tensor; integral floats are accepted, fractions are rejected as in PyTorch."""
    index = tensor_of(value)
    if any(type(position) is float and not position.is_integer() for position in index.items):
        raise PositionError("the index is a tensor of floating-point numbers")
    return index


def _picked(tensor: SmallTensor, positions: SmallTensor) -> SmallTensor:
    items = tensor.items
    return SmallTensor(positions.sizes, [items[at] for at in positions.items])


def _along(sizes: Sizes, dim: Value, index: Value) -> SmallTensor:
    """The linear indices that ``gather`` reads and ``scatter`` writes."""
    result_sizes = sizes_by.indexed(sizes, dim, _index_of(index).sizes)
    if len(sizes) == 0:
        return SmallTensor(result_sizes, [_wrapped(position, 1) for position in index.items])
    (axis,) = axes_of(dim, len(sizes))
    strides = list(strides_of(sizes))
    stride, strides[axis] = strides[axis], 0
    starts = strided_indices(result_sizes, tuple(strides))
    size = sizes[axis]
    positions = [start + _wrapped(position, size) * stride for start, position in zip(starts, index.items, strict=True)]
    return SmallTensor(result_sizes, positions)


def _slices(sizes: Sizes, dim: Value, index: Value) -> SmallTensor:
    """The linear indices that ``index_select`` reads."""
    sizes_by.of_rank(_index_of(index).sizes, 0, 1)
    if len(sizes) == 0:
        return SmallTensor(sizes, [_wrapped(number_of(index), 1)])
    (axis,) = axes_of(dim, len(sizes))
    result_sizes = sizes_by.resized(sizes, axis, len(index.items))
    strides = list(strides_of(sizes))
    stride, strides[axis] = strides[axis], 0
    starts, along = strided_indices(result_sizes, tuple(strides)), coordinates(result_sizes, axis)
    at = [_wrapped(position, sizes[axis]) * stride for position in index.items]
    return SmallTensor(result_sizes, [start + at[place] for start, place in zip(starts, along, strict=True)])


def _cut(source: Value, sizes: Sizes) -> SmallTensor:
    """The part of a source that an index of these sizes addresses."""
    whole = tensor_of(source)
    if whole.sizes == sizes:
        return whole
    return SmallTensor(sizes, [whole.items[at] for at in strided_indices(sizes, strides_of(source.sizes))])


# ---- reading


@operator()
def gather(self: Value, dim: Value, index: Value, _sparse_grad: Value = False) -> Value:
    """Elements along a dimension."""
    return _picked(tensor_of(self), _along(self.sizes, dim, index))


def _at(tensor: Value, index: Value) -> SmallTensor:
    count = len(tensor_of(tensor).items)
    return SmallTensor(_index_of(index).sizes, [_wrapped(position, count) for position in index.items])


def _by_indices(sizes: Sizes, indices: Value) -> SmallTensor:
    """The linear indices that ``index`` reads."""
    indexed = [(at, tensor_of(tensor)) for at, tensor in enumerate(indices) if tensor is not None]
    result_sizes = sizes_by.picked(sizes, tuple(None if tensor is None else tensor.sizes for tensor in indices))
    if not indexed:
        return linear_indices(sizes)
    if any(type(tensor.items[0]) is not int for _, tensor in indexed if len(tensor.items)):
        raise SizesError
    shape = sizes_by.broadcast(*(tensor.sizes for _, tensor in indexed))
    first = indexed[0][0] if indexed[-1][0] - indexed[0][0] + 1 == len(indexed) else 0
    strides = strides_of(sizes)
    rest = tuple(strides[at] for at in range(len(sizes)) if at >= len(indices) or indices[at] is None)
    starts = [0] * count_of(shape)
    count_of(result_sizes)
    for at, tensor in indexed:
        items = broadcast_to(tensor, shape).items
        starts = [start + _wrapped(index, sizes[at]) * strides[at] for start, index in zip(starts, items, strict=True)]
    inner = strided_indices(result_sizes, (*(0,) * first, *strides_of(shape), *(0,) * (len(rest) - first)))
    outer = strided_indices(result_sizes, (*rest[:first], *(0,) * len(shape), *rest[first:]))
    positions = [starts[place] + offset for place, offset in zip(inner, outer, strict=True)]
    return SmallTensor(result_sizes, positions)


@helper("index", "_unsafe_index")
def index(self: Value, indices: Value) -> Value:
    """Elements at index tensors."""
    return _picked(tensor_of(self), _by_indices(self.sizes, indices))


@operator()
def masked_select(self: Value, mask: Value) -> Value:
    """The elements where the mask is set."""
    flagged = broadcast_map(lambda item, flag: (item, flag), self, mask)
    selected = [item for item, flag in zip(flagged[0].items, flagged[1].items, strict=True) if flag]
    return SmallTensor(Sizes((len(selected),)), selected)


@helper("_unique")
def unique(self: Value, _sorted: Value = True, return_inverse: Value = False) -> Value:
    """The distinct elements."""
    if return_inverse:
        raise SizesError
    items = sorted(set(tensor_of(self).items))
    return SmallTensor(Sizes((len(items),)), items), SmallTensor(Sizes((0,)), [])


@helper()
def masked_select_backward(grad: Value, input: Value, mask: Value) -> Value:
    """The gradient where the mask is set."""
    sizes = sizes_by.broadcast(tensor_of(input).sizes, tensor_of(mask).sizes)
    return masked_scatter(filled(sizes, 0.0), mask, grad)


operators(
    {
        "index_select": lambda self, dim, index: _picked(tensor_of(self), _slices(self.sizes, dim, index)),
        "take": lambda self, index: _picked(tensor_of(self), _at(self, index)),
    }
)


# ---- writing


@operator()
def scatter(self: Value, dim: Value, index: Value, src: Value = None, value: Value = None) -> Value:
    """Replace elements along a dimension."""
    at = _along(tensor_of(self).sizes, dim, index)
    new = value if src is None else src
    return put_at(at, self, _cut(new, at.sizes) if type(new) is SmallTensor else filled(at.sizes, float(new)))


def _added(tensor: SmallTensor, at: SmallTensor, values: SmallTensor, factor: Value = 1) -> SmallTensor:
    sums = add_at(at, tensor.sizes, values)
    return SmallTensor(
        tensor.sizes, [item + factor * total for item, total in zip(tensor.items, sums.items, strict=True)]
    )


@operator()
def scatter_add(self: Value, dim: Value, index: Value, src: Value) -> Value:
    """Add elements along a dimension."""
    at = _along(tensor_of(self).sizes, dim, index)
    return _added(self, at, _cut(src, at.sizes))


_REDUCTIONS: dict[str, Callable[[Sequence[Value]], Value]] = {
    "sum": sum,
    "prod": math.prod,
    "mean": lambda items: sum(items) / len(items),
    "amax": max,
    "amin": min,
}


def _grouped(tensor: SmallTensor, at: SmallTensor, values: SmallTensor, reduce: Value, include: Value) -> SmallTensor:
    """Reduce the values written to each element, and the element itself if ``include``."""
    written: dict[int, list[Value]] = {}
    for place, value in zip(at.items, values.items, strict=True):
        written.setdefault(place, [tensor.items[place]] if include else []).append(value)
    function = _REDUCTIONS[reduce]
    items = [function(written[place]) if place in written else item for place, item in enumerate(tensor.items)]
    return SmallTensor(tensor.sizes, items)


@operator()
def scatter_reduce(
    self: Value, dim: Value, index: Value, src: Value, reduce: Value, include_self: Value = True
) -> Value:
    """Reduce elements along a dimension."""
    at = _along(tensor_of(self).sizes, dim, index)
    return _grouped(self, at, _cut(src, at.sizes), reduce, include_self)


def _source(at: SmallTensor, source: Value) -> SmallTensor:
    """The values of slices; a zero-dimensional source is a slice of one element."""
    slices = tensor_of(source)
    return slices if len(slices.sizes) or len(at.items) != 1 else SmallTensor(at.sizes, slices.items)


@operator()
def index_reduce(
    self: Value, dim: Value, index: Value, source: Value, reduce: Value, include_self: Value = True
) -> Value:
    """Reduce slices."""
    at = _slices(tensor_of(self).sizes, dim, index)
    slices = _source(at, source)
    sizes_by.same(at.sizes, slices.sizes)
    return _grouped(self, at, slices, reduce, include_self)


@operator()
def index_add(self: Value, dim: Value, index: Value, source: Value, alpha: Value = 1) -> Value:
    """Add slices."""
    at = _slices(tensor_of(self).sizes, dim, index)
    return _added(self, at, _source(at, source), alpha)


@operator()
def index_copy(self: Value, dim: Value, index: Value, source: Value) -> Value:
    """Replace slices."""
    at = _slices(tensor_of(self).sizes, dim, index)
    return put_at(at, self, _source(at, source))


@operator()
def index_fill(self: Value, dim: Value, index: Value, value: Value) -> Value:
    """Fill slices with one value."""
    at = _slices(tensor_of(self).sizes, dim, index)
    (element,) = value.items if type(value) is SmallTensor else (float(value),)
    return put_at(at, self, filled(at.sizes, element))


@operator("index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(self: Value, indices: Value, values: Value, accumulate: Value = False, _unsafe: Value = False) -> Value:
    """Replace or add elements at indices."""
    at = _by_indices(tensor_of(self).sizes, indices)
    source = broadcast_to(tensor_of(values), sizes_by.expanding(tensor_of(values).sizes, at.sizes))
    return _added(self, at, source) if accumulate else put_at(at, self, source)


def _clamped(tensor: SmallTensor, indices: Value) -> Value:
    """Indices moved into the range of their dimensions."""
    return tuple(
        index if index is None else broadcast_map(lambda at, size=size: min(max(at, -size), size - 1), index)
        for index, size in zip(indices, tensor.sizes, strict=False)
    )


def _masked(mask: Value, tensor: Value, fill: Value) -> Value:
    """A number where a mask is not set."""
    return broadcast_map(lambda flag, item: item if flag else fill, mask, tensor)


@operator()
def _unsafe_masked_index(self: Value, mask: Value, indices: Value, fill: Value) -> Value:
    """Elements at index tensors where a mask is set."""
    return _masked(mask, index(self, _clamped(tensor_of(self), indices)), float(fill))


@operator()
def _unsafe_masked_index_put_accumulate(self: Value, mask: Value, indices: Value, values: Value) -> Value:
    """Add elements at index tensors where a mask is set."""
    return index_put(self, _clamped(tensor_of(self), indices), _masked(mask, values, 0.0), True)


@operator()
def put(self: Value, index: Value, source: Value, accumulate: Value = False) -> Value:
    """Replace or add elements at linear indices."""
    at = _at(self, index)
    values = SmallTensor(at.sizes, tensor_of(source).items)
    return _added(self, at, values) if accumulate else put_at(at, self, values)


@operator()
def masked_scatter(self: Value, mask: Value, source: Value) -> Value:
    """Replace the elements where the mask is set by successive elements of a source."""
    rest = iter(tensor_of(source).items)
    return broadcast_map(lambda item, flag: next(rest) if flag else item, self, mask)


@helper()
def cummaxmin_backward(grad: Value, input: Value, indices: Value, dim: Value) -> Value:
    """The sum of gradients over the elements that an extreme was read from."""
    if tensor_of(grad).sizes != tensor_of(input).sizes:
        raise SizesError
    return scatter_add(filled(grad.sizes, 0.0), dim, indices, grad)


@helper()
def masked_scatter_backward(grad: Value, mask: Value, sizes: Value) -> Value:
    """The gradients where the mask is set, in sequence, followed by zeros."""
    selected = list(masked_select(grad, mask).items)
    count = count_of(sizes)
    return SmallTensor(Sizes(sizes), (selected + [0.0] * count)[:count])
