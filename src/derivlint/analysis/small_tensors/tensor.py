"""Small tensors, and linear indices into their elements in row-major order.

Indices depend only on sizes, which repeat, so they are memoized.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.functions.table import Table
from derivlint.operators.shapes.size_functions import broadcast
from derivlint.operators.shapes.size_values import Sizes, SizesError

#: A :class:`SmallTensor`, a number, a list, ``None``, ...
Value = Any
_MANY = 2048
#: The maximum number of elements of a tensor; a formula can request any number.
LARGEST = 4096


class SmallTensor(Struct, frozen=True, eq=False):
    """A tensor as sizes and elements.

    Attributes:
        sizes: its sizes.
        items: its elements.
    """

    sizes: Sizes
    items: Sequence[Value]

    def __bool__(self) -> bool:
        if len(self.items) != 1:
            raise SizesError
        return bool(self.items[0])


def tensor_of(value: Value) -> SmallTensor:
    """Return a value that must be a tensor.

    Raises:
        SizesError: it is not a tensor.
    """
    if type(value) is SmallTensor:
        return value
    raise SizesError


def sizes_of(value: Value) -> Value:
    """Replace tensors by their sizes."""
    if type(value) is SmallTensor:
        return value.sizes
    return tuple(map(sizes_of, value)) if type(value) is tuple else value


def number_of(value: Value) -> Value:
    """A number, or the element of a one-element tensor."""
    if type(value) is not SmallTensor:
        return value
    (item,) = value.items
    return item


def count_of(sizes: Sequence[int]) -> int:
    """The number of elements of a tensor.

    Raises:
        SizesError: there are more than ``LARGEST``.
    """
    count = math.prod(sizes)
    if not 0 <= count <= LARGEST:
        raise SizesError
    return count


def filled(sizes: Sequence[int], element: Value) -> SmallTensor:
    """A tensor with equal elements."""
    return SmallTensor(Sizes(sizes), [element] * count_of(sizes))


def linear_indices(sizes: Sequence[int]) -> SmallTensor:
    """The tensor of linear indices: a view of it has the indices that the view reads."""
    return SmallTensor(Sizes(sizes), range(count_of(sizes)))


# ---- indices


@lru_cache(_MANY)
def strides_of(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The contiguous strides."""
    return tuple(math.prod(sizes[at + 1 :]) for at in range(len(sizes)))


@lru_cache(_MANY)
def strided_indices(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> tuple[int, ...]:
    """The linear indices of a view's elements."""
    count_of(sizes)
    positions = [offset]
    for size, stride in zip(sizes, strides, strict=True):
        steps = range(0, size * stride, stride) if stride else (0,) * size
        positions = [start + step for start in positions for step in steps]
    return tuple(positions)


@lru_cache(_MANY)
def reduction_groups(sizes: tuple[int, ...], axes: frozenset[int]) -> tuple[tuple[int, ...], ...]:
    """The linear indices of the elements that are reduced to each result."""
    strides = strides_of(sizes)
    outer = [at for at in range(len(sizes)) if at not in axes]
    within = sorted(axes) if len(sizes) else []
    starts = strided_indices(tuple(sizes[at] for at in outer), tuple(strides[at] for at in outer))
    steps = strided_indices(tuple(sizes[at] for at in within), tuple(strides[at] for at in within))
    return tuple(tuple([start + step for step in steps]) for start in starts)


@lru_cache(_MANY)
def broadcast_indices(own: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """The linear indices from which a broadcast tensor's elements are read."""
    strides = [0 if size == 1 else stride for size, stride in zip(own, strides_of(own), strict=True)]
    return strided_indices(target, (*(0,) * (len(target) - len(own)), *strides))


@lru_cache(_MANY)
def coordinates(sizes: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The indices of all elements along a dimension."""
    return strided_indices(sizes, tuple(int(at == axis) for at in range(len(sizes))))


# ---- elements


def strided_view(tensor: SmallTensor, sizes: Sequence[int], strides: Sequence[int], offset: int = 0) -> SmallTensor:
    """The elements of a view."""
    items = tensor.items
    return SmallTensor(Sizes(sizes), [items[at] for at in strided_indices(tuple(sizes), tuple(strides), offset)])


def reshaped(tensor: SmallTensor, sizes: Sizes) -> SmallTensor:
    """Reshape a tensor: its elements with other sizes."""
    return SmallTensor(sizes, tensor.items)


def broadcast_to(tensor: SmallTensor, sizes: Sizes) -> SmallTensor:
    """The tensor, expanded."""
    if tensor.sizes == sizes:
        return tensor
    items = tensor.items
    return SmallTensor(sizes, [items[at] for at in broadcast_indices(tensor.sizes, sizes)])


def broadcast_map(function: Callable[..., Value], *values: Value) -> Value:
    """Lift a function of elements to broadcast tensors; numbers give a number."""
    sizes = None
    is_same = True
    for value in values:
        if type(value) is SmallTensor:
            if sizes is None:
                sizes = value.sizes
            elif value.sizes != sizes:
                is_same = False
    if sizes is None:
        return function(*values)
    if not is_same:
        sizes = broadcast(*[value.sizes for value in values if type(value) is SmallTensor])
        values = tuple([broadcast_to(value, sizes) if type(value) is SmallTensor else value for value in values])
    columns = [value.items if type(value) is SmallTensor else repeat(value) for value in values]
    results = list(map(function, *columns))
    if results and type(results[0]) is tuple:
        return tuple(SmallTensor(sizes, items) for items in zip(*results, strict=True))
    return SmallTensor(sizes, results)


#: The operators on small tensors that are not elementwise.
TABLE = Table()
operator, helper, operators, helpers = TABLE.operator, TABLE.helper, TABLE.operators, TABLE.helpers
