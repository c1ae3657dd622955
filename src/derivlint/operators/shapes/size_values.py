"""The values of the size domain, which represent tensors by their sizes, and functions that read them.

A tensor is its :class:`Sizes` and nothing else; numbers, lists and flags are what they are. What is not known is
``UNKNOWN``, and what PyTorch refuses raises :class:`IllegalSizesError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


class SizesError(Exception):
    """Nothing can be said of the sizes."""


class IllegalSizesError(SizesError):
    """Operands whose sizes do not fit.

    Attributes:
        place: the part of a formula that has these operands, once it is known.
    """

    place: Any = None


class Unknown:
    """A value that is not known."""

    def __bool__(self) -> bool:
        raise SizesError

    def __repr__(self) -> str:
        return "?"


class Sizes(tuple[int, ...]):
    """A tensor, as the sizes of its dimensions."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise SizesError

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self))}]"


UNKNOWN = Unknown()
#: What has no part in sizes: scalar types, options, generators.
OPAQUE = object()
SCALAR = Sizes()
#: So many items a list has at most.
LARGEST = 1000

#: A value: :class:`Sizes`, a number, a list, ``None``, ``UNKNOWN``, ...
Value = Any


def sizes_of(value: Value) -> Sizes:
    """The sizes of a tensor; nothing can be said of what is not one."""
    if type(value) is Sizes:
        return value
    raise SizesError


def whole_number(value: Value) -> int:
    """A whole number; nothing can be said of what is not one."""
    if type(value) is int:
        return value
    raise SizesError


def bounded(count: int) -> int:
    """At most the number of items that can be built: a formula can request any number.

    Raises:
        SizesError: they are too many.
    """
    if count > LARGEST:
        raise SizesError
    return count


def numbers_of(value: Value, count: int | None = None) -> tuple[int, ...]:
    """Numbers of a list; one stands for as many as are needed."""
    numbers = (value,) if type(value) is int else value
    if type(numbers) is tuple and len(numbers) == 1 and type(numbers[0]) is tuple:
        # written "{{1, 1}}" in C++
        (numbers,) = numbers
    if type(numbers) is not tuple:
        raise SizesError
    if count is not None and len(numbers) == 1:
        return numbers * count
    if count is not None and len(numbers) != count:
        raise IllegalSizesError(f"there are {len(numbers)} numbers for {count} dimensions")
    return numbers


def axis_of(dim: Value, rank: int) -> int:
    """A dimension counted from the first one; refused where there is none."""
    whole = whole_number(dim)
    count = max(rank, 1)
    if not -count <= whole < count:
        raise IllegalSizesError(f"there is no dimension {whole} among {rank}")
    return whole % count


def axes_of(dims: Value, rank: int) -> frozenset[int]:
    """Several dimensions, each named once."""
    axes = [axis_of(dim, rank) for dim in numbers_of(dims)]
    if len(set(axes)) < len(axes):
        raise IllegalSizesError(f"a dimension occurs twice in {list(numbers_of(dims))}")
    return frozenset(axes)


def with_size(sizes: Sequence[int], axis: int, size: int) -> Sizes:
    """Sizes with another one in one dimension."""
    return Sizes((*sizes[:axis], size, *sizes[axis + 1 :]))


def shown(sizes: Iterable[int]) -> str:
    """Sizes as messages show them."""
    return f"[{', '.join(map(str, sizes))}]"


def is_expandable(sizes: Sequence[int], target: Sequence[int]) -> bool:
    """Whether a tensor can be expanded to the sizes of another one."""
    offset = len(target) - len(sizes)
    return offset >= 0 and all(size in (1, target[offset + at]) for at, size in enumerate(sizes))


def is_unknown(value: Value) -> bool:
    """Whether a value, or something in it, is not known."""
    return value is UNKNOWN or (type(value) is tuple and any(map(is_unknown, value)))


def careful(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function of values that are known; of others, nothing is known."""

    def call(*values: Value) -> Value:
        for value in values:
            if value is UNKNOWN or (type(value) is tuple and is_unknown(value)):
                return UNKNOWN
        return function(*values)

    return call
