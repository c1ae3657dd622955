"""Small tensors to evaluate formulas on: arguments of an operator with different numbers in all places.

Their sizes are those at which sizes of formulas are evaluated, as far as they are small.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from derivlint.analysis.scalar_evaluation.points import MASKS, POSITIONS
from derivlint.analysis.scalar_evaluation.values import OPAQUE, DualList
from derivlint.analysis.scalar_evaluation.vocabulary import GRAD_MODE
from derivlint.analysis.shapes.cases import legal_cases
from derivlint.analysis.small_tensors.tensor import SmallTensor, Value, coordinates
from derivlint.operators.shapes import size_values
from derivlint.operators.shapes.size_values import UNKNOWN, Sizes
from derivlint.schema import NativeFunction

Values = Mapping[str, Value]

#: So many elements all tensors of a case have at most.
_SMALL = 110
#: So many cases are enough.
_CASES = 4
_GOLDEN = 0.6180339887498949
#: Where numbers are, of either sign or positive: some operators take only the latter.
_RANGES = ((-1.7, 1.6), (0.25, 0.85), (1.1, 2.2))


@lru_cache(512)
def _numbers(count: int, salt: int, low: float, high: float) -> tuple[float, ...]:
    """Numbers that look arbitrary, none of them near zero or equal to another one."""
    found = [round(low + (high - low) * ((7 * at + 13 * salt + 1) * _GOLDEN % 1.0), 3) for at in range(count)]
    return tuple([each + 0.05 if 0 <= each < 0.05 else each - 0.05 if -0.05 < each < 0 else each for each in found])


def numbers(sizes: Sizes, salt: int, kind: int = 0) -> SmallTensor:
    """A tensor of numbers.

    Args:
        sizes: its sizes.
        salt: which one; others have other numbers.
        kind: in which range they are.
    """
    return SmallTensor(sizes, _numbers(math.prod(sizes), salt, *_RANGES[kind]))


def directions(value: Value, salt: int) -> Value:
    """A tangent or gradient for a tensor, or for each one of a list."""
    if type(value) is tuple:
        return DualList(directions(each, salt + at) for at, each in enumerate(value))
    return numbers(value.sizes, 11 + salt)


def small_arguments(function: NativeFunction, differentiable: Collection[str], kind: int) -> Iterator[Values]:
    """Arguments that an operator takes, with numbers of one kind."""
    count = 0
    for arguments, _ in legal_cases(function):
        if _size(tuple(arguments.values())) > _SMALL:
            continue
        yield {
            GRAD_MODE: True,
            **{
                name: _filled(name, value, name in differentiable, at, kind)
                if name not in POSITIONS or name in differentiable
                else _positions(value, arguments)
                for at, (name, value) in enumerate(arguments.items())
                if value is not UNKNOWN
            },
        }
        count += 1
        if count == _CASES:
            return


def scalars_of(function: NativeFunction) -> frozenset[str]:
    """The arguments of an operator that are numbers and no positions."""
    return frozenset(
        each.name
        for each in function.schema.arguments.flat_non_out
        if str(each.type.base) in ("Scalar", "float") and each.type.is_list_like is None
    )


def other_scalars(function: NativeFunction, arguments: Values) -> Values | None:
    """The same arguments with another number for each that is one; None where there is none.

    Defaults are special: at 2 a norm is symmetric, and what is multiplied by 1 may be left out.
    """
    numbered = sorted(scalars_of(function))
    given = [(at, name, arguments.get(name)) for at, name in enumerate(numbered)]
    changed = {
        name: value + 1 + at if isinstance(value, int) else 0.8 * value + 0.1
        for at, name, value in given
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    return {**arguments, **changed} if changed else None


def _size(value: Value) -> int:
    if type(value) is Sizes:
        return math.prod(value)
    return sum(map(_size, value)) if type(value) is tuple else 0


def _filled(name: str, value: Value, is_differentiable: bool, salt: int, kind: int) -> Value:
    if type(value) is tuple and any(type(each) is Sizes for each in value):
        return tuple(_filled(name, each, is_differentiable, salt + at, kind) for at, each in enumerate(value))
    if value is size_values.OPAQUE:
        return OPAQUE
    if type(value) is not Sizes:
        return value
    if not is_differentiable and name in MASKS:
        return SmallTensor(value, [at % 3 != 1 for at in range(math.prod(value))])
    return numbers(value, salt, kind)


def _positions(value: Value, arguments: Values, among: int | None = None) -> Value:
    """Positions among the elements, or those of a dimension: the last one first, each once as long as there are any."""
    if type(value) is tuple:
        own = next(iter(arguments.values()))
        return tuple(_positions(each, arguments, own[at]) for at, each in enumerate(value))
    if type(value) is not Sizes:
        return value
    dim = arguments.get("dim")
    along: Sequence[int] = range(math.prod(value))
    if among is None:
        whole = next((each for each in arguments.values() if type(each) is Sizes), value)
        among = math.prod(whole)
        if type(dim) is int and len(whole):
            among = whole[dim]
            along = coordinates(value, dim % len(value))
        elif "dim" not in arguments and len(whole) > 1 and len(value) < len(whole):
            # classes, or rows of a table
            among = 2
    return SmallTensor(value, [(among - 1 - at) % among for at in along])
