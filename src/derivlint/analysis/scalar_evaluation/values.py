"""The values of scalar evaluation: a tensor is a number, its metadata are tokens.

Real tensors and numbers are ``float``, complex ones ``complex``, masks ``bool``, indices ``int``. Lists are tuples; an
absent optional value is None.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

#: A number, a token, a string, a tuple or None.
Value = Any


class UnknownValueError(Exception):
    """The value is unknown: an operator outside the table, a number outside its domain."""


class NotFiniteError(UnknownValueError):
    """The value is infinite or NaN."""


class MetadataToken:
    """Metadata of a tensor, compared by identity."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class DualList(tuple[Value, ...]):
    """A list of tensors with tangents."""

    tangents: tuple[Value, ...]

    @classmethod
    def of(cls, value: Value, tangent: Value) -> DualList:
        """Make a list of one tensor."""
        duals = cls((value,))
        duals.tangents = (tangent,)
        return duals


REAL = MetadataToken("real")
COMPLEX = MetadataToken("complex")
BOOL = MetadataToken("bool")
INTEGER = MetadataToken("integer")
#: Metadata that does not affect values: layouts, devices, memory formats, generators.
OPAQUE = MetadataToken("opaque")
#: The jagged layout of nested tensors.
JAGGED = MetadataToken("jagged")
#: The bound of integers: Python's are unlimited, C++'s are not.
LARGEST = 2**63
#: The sizes of a one-element tensor.
SIZES = (1,)

_TYPES = {float: REAL, complex: COMPLEX, bool: BOOL, int: INTEGER}


def scalar_type(value: Value) -> MetadataToken:
    """The dtype of a tensor."""
    token = _TYPES.get(type(value))
    if token is None:
        raise UnknownValueError
    return token


def cast(value: Value, dtype: Value) -> Value:
    """Convert a tensor to a dtype, unless it is None."""
    if dtype is REAL:
        return float(value.real)
    if dtype is COMPLEX:
        return complex(value)
    if dtype is INTEGER:
        return int(value.real)
    if dtype is None or dtype is scalar_type(value):
        return value
    raise UnknownValueError


def conj(value: Value) -> Value:
    """The complex conjugate; a real number is unchanged."""
    return value.conjugate() if type(value) is complex else value


def sgn(value: Value) -> Value:
    """The sign of a number: ``x / |x|``, 0 at 0."""
    if type(value) is complex:
        return value / abs(value) if value else 0j
    return math.copysign(1.0, value) if value else 0.0


def divided(left: Value, right: Value) -> Value:
    """Divide tensors: a real number divided by zero is infinite or NaN."""
    if right == 0 and type(right) is not complex and isinstance(left, (int, float)):
        return float(left) * math.copysign(math.inf, right)
    return left / right


def real_only(value: Value) -> float:
    """Return a number that must be real.

    Raises:
        UnknownValueError: it is complex.
    """
    if type(value) is complex:
        raise UnknownValueError
    return float(value)


def is_finite(value: Value) -> bool:
    """Whether a value is a finite number."""
    kind = type(value)
    if kind is float or kind is bool:
        return math.isfinite(value)
    if kind is int:
        return bool(-LARGEST <= value <= LARGEST)
    return kind is complex and cmath.isfinite(value)
