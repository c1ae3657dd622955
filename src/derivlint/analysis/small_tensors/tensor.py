"""Small tensors, and where their elements are: positions in the list of all elements, the last dimension running first.

Positions depend on sizes only, and few sizes occur, so they are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product, repeat
from typing import Any

from msgspec import Struct

from derivlint.operators.shapes.size_functions import broadcast
from derivlint.operators.shapes.size_values import Sizes, SizesError

#: A :class:`SmallTensor`, a number, a list, ``None``, ...
Value = Any
_MANY = 2048
#: So many elements a tensor has at most: a formula can ask for any number.
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
    """The same with sizes in place of tensors, as functions of sizes take it."""
    if type(value) is SmallTensor:
        return value.sizes
    return tuple(map(sizes_of, value)) if type(value) is tuple else value


def number_of(value: Value) -> Value:
    """A number; that of a tensor with one element."""
    if type(value) is not SmallTensor:
        return value
    (found,) = value.items
    return found


def count_of(sizes: Sequence[int]) -> int:
    """How many elements a tensor has.

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


def places(sizes: Sequence[int]) -> SmallTensor:
    """The tensor whose elements are their own positions: what moves elements says with it where they come from."""
    return SmallTensor(Sizes(sizes), range(count_of(sizes)))


# ---- positions


@lru_cache(_MANY)
def strides_of(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """How far elements are apart that are neighbours in each dimension."""
    return tuple(math.prod(sizes[at + 1 :]) for at in range(len(sizes)))


@lru_cache(_MANY)
def strided(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> tuple[int, ...]:
    """The positions of the elements of a view."""
    count_of(sizes)
    found = [offset]
    for size, stride in zip(sizes, strides, strict=True):
        steps = range(0, size * stride, stride) if stride else (0,) * size
        found = [start + step for start in found for step in steps]
    return tuple(found)


@lru_cache(_MANY)
def groups(sizes: tuple[int, ...], axes: frozenset[int]) -> tuple[tuple[int, ...], ...]:
    """The positions of the elements that are reduced to each element of the result."""
    strides = strides_of(sizes)
    kept = [at for at in range(len(sizes)) if at not in axes]
    within = sorted(axes) if len(sizes) else []
    starts = strided(tuple(sizes[at] for at in kept), tuple(strides[at] for at in kept))
    steps = strided(tuple(sizes[at] for at in within), tuple(strides[at] for at in within))
    return tuple(tuple([start + step for step in steps]) for start in starts)


@lru_cache(_MANY)
def spread(own: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    """Where the elements of a tensor that is broadcast come from."""
    strides = [0 if size == 1 else stride for size, stride in zip(own, strides_of(own), strict=True)]
    return strided(target, (*(0,) * (len(target) - len(own)), *strides))


@lru_cache(_MANY)
def coordinates(sizes: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Where the elements are along a dimension."""
    return strided(sizes, tuple(int(at == axis) for at in range(len(sizes))))


# ---- elements


def moved(tensor: SmallTensor, sizes: Sequence[int], strides: Sequence[int], offset: int = 0) -> SmallTensor:
    """A view."""
    items = tensor.items
    return SmallTensor(Sizes(sizes), [items[at] for at in strided(tuple(sizes), tuple(strides), offset)])


def reshaped(tensor: SmallTensor, sizes: Sizes) -> SmallTensor:
    """The same elements in other sizes."""
    return SmallTensor(sizes, tensor.items)


def broadcast_to(tensor: SmallTensor, sizes: Sizes) -> SmallTensor:
    """A tensor that is expanded."""
    if tensor.sizes == sizes:
        return tensor
    items = tensor.items
    return SmallTensor(sizes, [items[at] for at in spread(tensor.sizes, sizes)])


def mapped(function: Callable[..., Value], *values: Value) -> Value:
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
    found = list(map(function, *columns))
    if found and type(found[0]) is tuple:
        return tuple(SmallTensor(sizes, items) for items in zip(*found, strict=True))
    return SmallTensor(sizes, found)


def every_index(sizes: Sequence[int]) -> product[tuple[int, ...]]:
    """The indices of all elements, in their order."""
    return product(*map(range, sizes))
