"""Arithmetic on numbers and lists of numbers in graphs, as TorchScript defines it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from derivlint.graph.types import BOOL, FLOAT, INT, NUMBER, GraphError, GraphType

#: The largest integer of any C++ type.
LARGEST = 2**64 - 1
#: Arithmetic whose result is a boolean.
_TRUTHS: Mapping[str, Callable[..., Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "__not__": operator.not_,
    "__and__": operator.and_,
    "__or__": operator.or_,
}
#: Arithmetic whose result is an integer.
_INTEGERS: Mapping[str, Callable[..., Any]] = {
    "floordiv": operator.floordiv,
    "len": len,
    "__getitem__": operator.getitem,
}
_FLOATS: Mapping[str, Callable[..., Any]] = {"log": math.log}
#: All operators on numbers and lists of numbers.
NUMBERS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    **_TRUTHS,
    **_INTEGERS,
    **_FLOATS,
}


def number_type(name: str, operands: list[GraphType]) -> GraphType:
    """The type of arithmetic on numbers."""
    if name in _TRUTHS:
        return BOOL
    if name in _INTEGERS or (name not in _FLOATS and operands == [INT] * len(operands)):
        return INT
    return FLOAT if name in _FLOATS or FLOAT in operands else NUMBER


def read_integer(text: str) -> int:
    """The value of decimal digits with or without a sign.

    Raises:
        GraphError: it is too large for C++.
    """
    if len(text) > len(str(LARGEST)) + 1 or abs(int(text)) > LARGEST:
        raise _unreadable(text)
    return int(text)


def read_number(text: str) -> int | float:
    """The value of a C++ number.

    Raises:
        GraphError: it is too large for C++, or not a number.
    """
    bare = text.replace("'", "")
    bare = bare.rstrip("uUlL") if bare.lower().startswith("0x") else bare.rstrip("uUlLfF")
    try:
        # Python's int() rejects octal digits, and too many digits
        value = int(bare, 0) if bare.isdecimal() or bare[:2].lower() in ("0x", "0b") else float(bare)
    except ValueError:
        value = math.inf
    if value == math.inf or (isinstance(value, int) and value > LARGEST):
        raise _unreadable(text)
    return value


def _unreadable(text: str) -> GraphError:
    return GraphError(f'the number "{text if len(text) <= 40 else f"{text[:20]}..."}" cannot be read')
