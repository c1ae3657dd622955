"""Values of scalar evaluation: a tensor is a number, its metadata are tokens.

A tensor of real numbers is a ``float``, one of complex numbers a ``complex``, a mask a ``bool``, indices an ``int``. So
are numbers; nothing that a formula computes distinguishes them. Lists are tuples, an absent optional value is None.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

#: A number, a token, a text, a tuple or None.
Value = Any


class UnknownValueError(Exception):
    """A value that is not known: an operator outside the table, a number outside its domain."""


class NotFiniteError(UnknownValueError):
    """A value that is infinite or not a number."""


class MetadataToken:
    """Metadata of a tensor, known by identity only."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class DualList(tuple[Value, ...]):
    """A list of tensors with their tangents."""

    tangents: tuple[Value, ...]

    @classmethod
    def of(cls, value: Value, tangent: Value) -> DualList:
        """A list of one."""
        duals = cls((value,))
        duals.tangents = (tangent,)
        return duals


REAL = MetadataToken("real")
COMPLEX = MetadataToken("complex")
BOOL = MetadataToken("bool")
INTEGER = MetadataToken("integer")
#: A layout, a device, a memory format, a generator: nothing that changes a value.
OPAQUE = MetadataToken("opaque")
#: The layout of nested tensors of one kind.
JAGGED = MetadataToken("jagged")
#: The largest whole number; Python's have no end, those of C++ do.
LARGEST = 2**63
#: The sizes of a tensor with one element.
SIZES = (1,)

_TYPES = {float: REAL, complex: COMPLEX, bool: BOOL, int: INTEGER}


def scalar_type(value: Value) -> MetadataToken:
    """The scalar type of a tensor."""
    token = _TYPES.get(type(value))
    if token is None:
        raise UnknownValueError
    return token


def cast(value: Value, dtype: Value) -> Value:
    """Convert a tensor to a scalar type, if there is one."""
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
    """A quotient of tensors: a real number divided by zero is infinite or not a number."""
    if right == 0 and type(right) is not complex and isinstance(left, (int, float)):
        return float(left) * math.copysign(math.inf, right)
    return left / right


def real_only(value: Value) -> float:
    """A number that has to be real.

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
