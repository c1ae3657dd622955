"""Arithmetic on numbers in graphs: what TorchScript's operators of these names give for numbers and lists of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from derivlint.graph.types import BOOL, FLOAT, INT, NUMBER, GraphType

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
#: What an operator does with numbers and lists of them.
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
