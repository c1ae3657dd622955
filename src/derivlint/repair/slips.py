"""Kinds of mistakes, with their frequencies."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from derivlint.formula import Edit


class Slip(Enum):
    """A kind of slip."""

    CONJUGATE = "conjugate"
    ARGUMENT_COUNT = "argument count"
    GUARD = "guard"
    METHOD = "method"
    COMPARISON = "comparison"
    HELPER = "helper"
    VARIABLE = "variable"
    FACTOR = "factor"
    SIGN = "wrong sign"
    EXCHANGE = "exchange"
    INDEX = "index"
    FLAG = "flag"
    OPERATOR = "operator"
    CONSTANT = "constant"
    OPERAND = "operand"
    BRANCH = "branch"
    NAMESPACE = "namespace"
    SPELLING = "spelling"
    TOKEN = "token"


#: The number of mistakes of each kind among 150 corrected formulas of PyTorch's history; rare kinds count as three.
WEIGHTS = {
    Slip.CONJUGATE: 61,
    Slip.ARGUMENT_COUNT: 16,
    Slip.GUARD: 10,
    Slip.METHOD: 10,
    Slip.COMPARISON: 7,
    Slip.HELPER: 6,
    Slip.VARIABLE: 5,
    **dict.fromkeys((Slip.FACTOR, Slip.SIGN, Slip.EXCHANGE, Slip.INDEX, Slip.FLAG), 3),
    **dict.fromkeys((Slip.OPERATOR, Slip.CONSTANT, Slip.OPERAND, Slip.BRANCH), 3),
    **dict.fromkeys((Slip.NAMESPACE, Slip.SPELLING, Slip.TOKEN), 3),
}


class Change(Struct, frozen=True):
    """An edit of a formula.

    Attributes:
        slip: the kind of mistake that it fixes.
        edit: the edit.
        cause: a description of the mistake.
        weight: how likely it is among the changes of its kind.
    """

    slip: Slip
    edit: Edit
    cause: str
    weight: float = 1
