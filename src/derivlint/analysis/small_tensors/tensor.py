"""Small tensors, and positions in the list of their elements, the last dimension running first.

Positions depend on sizes only, and few sizes occur, so they are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product, repeat
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
    """A tensor.

    Attributes:
        sizes: its sizes.
        items: its elements.
    """

    sizes: Sizes
    items: Sequence[Value]

    def __bool__(self) -> bool:
        raise SizesError


def tensor_of(value: Value) -> SmallTensor:
    """A value that has to be a tensor.

    Raises:
        SizesError: it is not.
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
    """A number; that of a tensor with one element."""
    if type(value) is not SmallTensor:
        return value
    (item,) = value.items
    return item


def count_of(sizes: Sequence[int]) -> int:
    """The number of elements of a tensor.

    Raises:
        SizesError: it is not small.
    """
    count = math.prod(sizes)
    if not 0 <= count <= LARGEST:
        raise SizesError
    return count


def filled(sizes: Sequence[int], element: Value) -> SmallTensor:
    """A tensor of one value."""
    return SmallTensor(Sizes(sizes), [element] * count_of(sizes))


def linear_indices(sizes: Sequence[int]) -> SmallTensor:
    """The tensor whose elements are their own positions; a view of it has the positions that the view reads."""
    return SmallTensor(Sizes(sizes), range(count_of(sizes)))


# ---- positions


@lru_cache(_MANY)
def strides_of(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The distances of neighbours in each dimension."""
    return tuple(math.prod(sizes[at + 1 :]) for at in range(len(sizes)))


@lru_cache(_MANY)
def strided_indices(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> tuple[int, ...]:
    """The positions of the elements of a view."""
    count_of(sizes)
    positions = [offset]
    for size, stride in zip(sizes, strides, strict=True):
        steps = range(0, size * stride, stride) if stride else (0,) * size
        positions = [start + step for start in positions for step in steps]
    return tuple(positions)


@lru_cache(_MANY)
def reduction_groups(sizes: tuple[int, ...], axes: frozenset[int]) -> tuple[tuple[int, ...], ...]:
    """The positions of the elements that are reduced to each element of the result."""
    strides = strides_of(sizes)
    outer = [at for at in range(len(sizes)) if at not in axes]
    within = sorted(axes) if len(sizes) else []
    starts = strided_indices(tuple(sizes[at] for at in outer), tuple(strides[at] for at in outer))
    steps = strided_indices(tuple(sizes[at] for at in within), tuple(strides[at] for at in within))
    return tuple(tuple([start + step for step in steps]) for start in starts)


@lru_cache(_MANY)
def broadcast_indices(own: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """The positions that the elements of a broadcast tensor are read from."""
    strides = [0 if size == 1 else stride for size, stride in zip(own, strides_of(own), strict=True)]
    return strided_indices(target, (*(0,) * (len(target) - len(own)), *strides))


@lru_cache(_MANY)
def coordinates(sizes: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The indices of all elements along a dimension."""
    return strided_indices(sizes, tuple(int(at == axis) for at in range(len(sizes))))


# ---- elements


def strided_view(tensor: SmallTensor, sizes: Sequence[int], strides: Sequence[int], offset: int = 0) -> SmallTensor:
    """A view."""
    items = tensor.items
    return SmallTensor(Sizes(sizes), [items[at] for at in strided_indices(tuple(sizes), tuple(strides), offset)])


def reshaped(tensor: SmallTensor, sizes: Sizes) -> SmallTensor:
    """A tensor with these elements in other sizes."""
    return SmallTensor(sizes, tensor.items)


def broadcast_to(tensor: SmallTensor, sizes: Sizes) -> SmallTensor:
    """A tensor that is expanded."""
    if tensor.sizes == sizes:
        return tensor
    items = tensor.items
    return SmallTensor(sizes, [items[at] for at in broadcast_indices(tensor.sizes, sizes)])


def broadcast_map(function: Callable[..., Value], *values: Value) -> Value:
    """A function of elements, of tensors that are broadcast to each other; of numbers only, a number."""
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


def all_indices(sizes: Sequence[int]) -> product[tuple[int, ...]]:
    """The indices of all elements, in their order."""
    return product(*map(range, sizes))


#: Operators on small tensors that are not elementwise.
TABLE = Table()
operator, helper, operators, helpers = TABLE.operator, TABLE.helper, TABLE.operators, TABLE.helpers
