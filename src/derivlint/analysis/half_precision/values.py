"""Half-precision numbers with an exact shadow."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from enum import Enum

from msgspec import Struct

from derivlint.analysis.scalar_evaluation.values import Value
from derivlint.formula import Expr

#: The minimum relative error of a loss: a hundred roundings.
LOST = 0.05
#: The smallest normal number. Errors below it are negligible relative to a gradient of one.
SMALLEST_NORMAL = 2.0**-14


class LossCause(Enum):
    """The causes of losses."""

    #: a part overflows to infinity, or underflows to zero or a subnormal number
    RANGE = "range"
    #: an operation amplifies rounding errors of its operands, such as a difference of nearly equal numbers
    CANCELLATION = "cancellation"
    #: the same for an operand that depends on an output, which was rounded when stored
    ROUNDED_OUTPUT = "rounded output"
    #: an infinite gradient or tangent is multiplied by a zero mask, which gives NaN
    MASK = "mask"


class Loss(Struct, eq=False):
    """The operation after which a number is lost.

    Attributes:
        cause: the cause.
        exact: the result of the operation without rounding.
        actual: its rounded result.
        outputs: the outputs of the operator from which its operands are computed.
        node: the part of the formula with the operation, set by the evaluator.
        is_inside: whether the part calls a helper that contains the operation.
    """

    cause: LossCause
    exact: float
    actual: float
    outputs: frozenset[str]
    node: Expr | None = None
    is_inside: bool = False


class Half(float):
    """A half-precision number with its exact shadow.

    Attributes:
        exact: the number as computed without any rounding.
        outputs: the outputs of the operator from which it is computed.
        loss: the reason why it differs from ``exact``, or None.
        is_mask: whether it is a mask converted to a number.
    """

    exact: float
    outputs: frozenset[str]
    loss: Loss | None
    is_mask: bool

    @classmethod
    def of(cls, value: float, exact: float | None = None, outputs: frozenset[str] = frozenset()) -> Half:
        """Round a number; its shadow is ``exact``, by default the number itself."""
        made = cls(half(value))
        made.exact = value if exact is None else exact
        made.outputs = outputs
        made.loss = None
        made.is_mask = False
        return made


def half(value: float) -> float:
    """Round a number to half precision."""
    try:
        return float(struct.unpack("e", struct.pack("e", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def is_lost(value: Half) -> bool:
    """Whether a number is far from its shadow."""
    best = half(value.exact)
    return math.isfinite(best) and not abs(value - best) <= LOST * abs(best) + SMALLEST_NORMAL


def operation(function: Callable[..., Value], *, multiplies: bool = False) -> Callable[..., Value]:
    """Lift a function to half-precision numbers; its exact result is rounded.

    Args:
        function: the function.
        multiplies: whether it multiplies its operands, one of them possibly a mask.
    """

    def run(*arguments: Value) -> Value:
        operands = [argument for argument in _flat(arguments) if type(argument) is Half]
        if not operands:
            return function(*arguments)
        exact = function(*[_exact(argument) for argument in arguments])
        try:
            result = function(*[_plain(argument) for argument in arguments])
        except (ValueError, ZeroDivisionError):
            # outside its domain
            result = _not_a_number(exact)
        has_mask = multiplies and any(
            argument is False or (type(argument) is Half and argument.is_mask and not argument)
            for argument in arguments
        )
        return _made(result, exact, operands, has_mask)

    return run


def as_mask(value: bool) -> Half:
    """Convert a mask to a number."""
    made = Half.of(float(value))
    made.is_mask = True
    return made


def _flat(arguments: tuple[Value, ...]) -> Iterator[Value]:
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _flat(argument)
        else:
            yield argument


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


def _made(result: Value, exact: Value, operands: list[Half], has_mask: bool) -> Value:
    if isinstance(result, tuple) and isinstance(exact, tuple):
        return tuple(
            _made(part, exact_part, operands, has_mask) for part, exact_part in zip(result, exact, strict=True)
        )
    if type(result) is not float or type(exact) is not float:
        return result
    made = Half.of(result, exact, frozenset().union(*(operand.outputs for operand in operands)))
    made.is_mask = any(operand.is_mask and operand == result for operand in operands)
    if math.isnan(exact):
        made.loss = _earlier(operands, result)
        if made.loss is None and has_mask and any(map(math.isinf, operands)):
            made.loss = Loss(LossCause.MASK, 0.0, result, made.outputs)
    elif not (made == made.exact or abs(made - made.exact) <= LOST * abs(made.exact)):
        made.loss = _earlier(operands, result) or Loss(_cause(made, result), exact, float(made), made.outputs)
    return made


def _earlier(operands: list[Half], result: float) -> Loss | None:
    """The loss of an operand, preferably of one that equals the result."""
    lost = [operand for operand in operands if operand.loss is not None]
    chosen = next((operand for operand in lost if operand == result), lost[0] if lost else None)
    return None if chosen is None else chosen.loss


def _cause(value: Half, result: float) -> LossCause:
    if abs(result - value.exact) <= LOST * abs(value.exact):
        # exact before rounding
        return LossCause.RANGE
    return LossCause.ROUNDED_OUTPUT if value.outputs else LossCause.CANCELLATION
