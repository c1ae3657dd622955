"""Values of the size domain, which represents tensors by their sizes.

A tensor is represented by its :class:`Sizes`; numbers, lists and flags represent themselves. Unknown values are
``UNKNOWN``, and operands that PyTorch rejects raise :class:`IllegalSizesError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


class SizesError(Exception):
    """The sizes cannot be determined."""


class IllegalSizesError(SizesError):
    """The sizes of operands do not fit.

    Attributes:
        place: the expression with these operands, or None.
    """

    place: Any = None


class Unknown:
    """The unknown value."""

    def __bool__(self) -> bool:
        raise SizesError

    def __repr__(self) -> str:
        return "?"


class Sizes(tuple[int, ...]):
    """A tensor, represented by the sizes of its dimensions."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise SizesError

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self))}]"


UNKNOWN = Unknown()
#: A value that does not affect sizes: scalar types, options, generators.
OPAQUE = object()
SCALAR = Sizes()
#: The maximum number of items of a list.
LARGEST = 1000

#: A value: :class:`Sizes`, a number, a list, ``None``, ``UNKNOWN``, ...
Value = Any


def sizes_of(value: Value) -> Sizes:
    """The sizes of a tensor; raises SizesError for other values."""
    if type(value) is Sizes:
        return value
    raise SizesError


def whole_number(value: Value) -> int:
    """Return an integer; raise SizesError for other values."""
    if type(value) is int:
        return value
    raise SizesError


def bounded(count: int) -> int:
    """Check a requested number of items, which a formula could make arbitrarily large.

    Raises:
        SizesError: there are too many.
    """
    if count > LARGEST:
        raise SizesError
    return count


def numbers_of(value: Value, count: int | None = None) -> tuple[int, ...]:
    """The numbers in a list; a single number is repeated."""
    numbers = (value,) if type(value) is int else value
    if type(numbers) is tuple and len(numbers) == 1 and type(numbers[0]) is tuple:
        # "{{1, 1}}" in C++
        (numbers,) = numbers
    # a number times a list, or the sizes of a tensor, would repeat them
    if type(numbers) is not tuple or not all(type(number) is int for number in numbers):
        raise SizesError
    if count is not None and len(numbers) == 1:
        return numbers * count
    if count is not None and len(numbers) != count:
        raise IllegalSizesError(f"there are {len(numbers)} numbers for {count} dimensions")
    return numbers


def axis_of(dim: Value, rank: int) -> int:
    """The nonnegative index of a dimension; raises if it does not exist."""
    whole = whole_number(dim)
    count = max(rank, 1)
    if not -count <= whole < count:
        raise IllegalSizesError(f"there is no dimension {whole} among {rank}")
    return whole % count


def axes_of(dims: Value, rank: int) -> frozenset[int]:
    """The nonnegative indices of distinct dimensions."""
    axes = [axis_of(dim, rank) for dim in numbers_of(dims)]
    if len(set(axes)) < len(axes):
        raise IllegalSizesError(f"a dimension occurs twice in {list(numbers_of(dims))}")
    return frozenset(axes)


def with_size(sizes: Sequence[int], axis: int, size: int) -> Sizes:
    """Replace the size of one dimension."""
    return Sizes((*sizes[:axis], size, *sizes[axis + 1 :]))


def shown(sizes: Iterable[int]) -> str:
    """Format sizes for messages."""
    return f"[{', '.join(map(str, sizes))}]"


def is_expandable(sizes: Sequence[int], target: Sequence[int]) -> bool:
    """Whether a tensor can be expanded to the target sizes."""
    offset = len(target) - len(sizes)
    return offset >= 0 and all(size in (1, target[offset + at]) for at, size in enumerate(sizes))


def is_unknown(value: Value) -> bool:
    """Whether a value is unknown or contains unknown values."""
    return value is UNKNOWN or (type(value) is tuple and any(map(is_unknown, value)))


def careful(function: Callable[..., Value]) -> Callable[..., Value]:
    """Make a function return UNKNOWN if an argument is unknown."""

    def call(*values: Value) -> Value:
        for value in values:
            if value is UNKNOWN or (type(value) is tuple and is_unknown(value)):
                return UNKNOWN
        return function(*values)

    return call
