"""Numbers of half precision that know what they would be without rounding."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from enum import Enum

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.values import Value
from derivlint.formula import Expr

#: How far from the exact number one may be, relatively: a hundred roundings.
LOST = 0.05
#: The smallest number with all of its digits. What is lost below is nothing next to a gradient of one.
SMALLEST_NORMAL = 2.0**-14


class LossCause(Enum):
    """How a number is lost."""

    #: a part is too great for the type and becomes infinite, or too small and becomes zero or loses digits
    RANGE = "range"
    #: an operation magnifies what its operands were rounded by, as a difference of nearly equal numbers does
    CANCELLATION = "cancellation"
    #: the same where an operand is computed from an output of the operator, which was rounded when it was stored
    ROUNDED_OUTPUT = "rounded output"
    #: a gradient or tangent that is infinite is multiplied by false, which gives NaN, and not left out
    MASK = "mask"


class Loss(Struct, eq=False):
    """The operation after which a number is lost.

    Attributes:
        cause: how.
        exact: what the operation would give without any rounding.
        found: what it gives.
        outputs: the outputs of the operator that its operands are computed from.
        node: the part of the formula that does it; None until the formula is asked.
        is_inside: whether that calls a helper which does it among other things.
    """

    cause: LossCause
    exact: float
    found: float
    outputs: frozenset[str]
    node: Expr | None = None
    is_inside: bool = False


class Half(float):
    """A number of half precision.

    Attributes:
        exact: the number without any rounding, its own and those of what it is computed from.
        outputs: the outputs of the operator that it is computed from.
        loss: why it is not near the exact number; None where it is.
        is_mask: whether it is a mask, as a number.
    """

    exact: float
    outputs: frozenset[str]
    loss: Loss | None
    is_mask: bool

    @classmethod
    def of(cls, value: float, exact: float | None = None, outputs: frozenset[str] = frozenset()) -> Half:
        """A number as it is stored, by default the exact one."""
        made = cls(half(value))
        made.exact = value if exact is None else exact
        made.outputs = outputs
        made.loss = None
        made.is_mask = False
        return made


def half(value: float) -> float:
    """A number rounded to half precision."""
    try:
        return float(struct.unpack("e", struct.pack("e", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def is_lost(value: Half) -> bool:
    """Whether a number is far from what half precision has for the exact one."""
    best = half(value.exact)
    return math.isfinite(best) and not abs(value - best) <= LOST * abs(best) + SMALLEST_NORMAL


def operation(function: Callable[..., Value], *, multiplies: bool = False) -> Callable[..., Value]:
    """A function of numbers as an operation on numbers of half precision: it computes exactly, and rounds its result.

    Args:
        function: the function.
        multiplies: whether it multiplies its operands; one may be a mask.
    """

    def run(*arguments: Value) -> Value:
        operands = [each for each in _flat(arguments) if type(each) is Half]
        if not operands:
            return function(*arguments)
        exact = function(*[_exact(each) for each in arguments])
        try:
            found = function(*[_plain(each) for each in arguments])
        except (ValueError, ZeroDivisionError):
            # outside of its domain
            found = _not_a_number(exact)
        has_mask = multiplies and any(each is False or _is_unset(each) for each in arguments)
        return _made(found, exact, operands, has_mask)

    return run


def as_mask(value: bool) -> Half:
    """A mask as a number."""
    made = Half.of(float(value))
    made.is_mask = True
    return made


def _is_unset(value: Value) -> bool:
    return type(value) is Half and value.is_mask and not value


def _flat(arguments: tuple[Value, ...]) -> Iterator[Value]:
    for each in arguments:
        if isinstance(each, tuple):
            yield from _flat(each)
        else:
            yield each


def _exact(value: Value) -> Value:
    if type(value) is Half:
        return value.exact
    return tuple(map(_exact, value)) if isinstance(value, tuple) else value


def _plain(value: Value) -> Value:
    if type(value) is Half:
        return float(value)
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _not_a_number(like: Value) -> Value:
    return tuple(map(_not_a_number, like)) if isinstance(like, tuple) else math.nan


def _made(found: Value, exact: Value, operands: list[Half], has_mask: bool) -> Value:
    if isinstance(found, tuple) and isinstance(exact, tuple):
        return tuple(_made(one, other, operands, has_mask) for one, other in zip(found, exact, strict=True))
    if type(found) is not float or type(exact) is not float:
        return found
    made = Half.of(found, exact, frozenset().union(*(each.outputs for each in operands)))
    made.is_mask = any(each.is_mask and each == found for each in operands)
    if math.isnan(exact):
        made.loss = _earlier(operands, found)
        if made.loss is None and has_mask and any(map(math.isinf, operands)):
            made.loss = Loss(LossCause.MASK, 0.0, found, made.outputs)
    elif not _is_near(made):
        made.loss = _earlier(operands, found) or Loss(_cause(made, found), exact, float(made), made.outputs)
    return made


def _is_near(value: Half) -> bool:
    return value == value.exact or abs(value - value.exact) <= LOST * abs(value.exact)


def _earlier(operands: list[Half], found: float) -> Loss | None:
    """What was lost before; of several operands the one that the result is."""
    lost = [each for each in operands if each.loss is not None]
    chosen = next((each for each in lost if each == found), lost[0] if lost else None)
    return None if chosen is None else chosen.loss


def _cause(value: Half, found: float) -> LossCause:
    if abs(found - value.exact) <= LOST * abs(value.exact):
        # it is right until it is rounded
        return LossCause.RANGE
    return LossCause.ROUNDED_OUTPUT if value.outputs else LossCause.CANCELLATION
