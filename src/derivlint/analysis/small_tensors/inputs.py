"""Small tensors for evaluating formulas: arguments of an operator with distinct elements.

Their sizes are those of :mod:`derivlint.analysis.shapes.cases`, if small.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from derivlint.analysis.scalar_evaluation.points import MASKS, POSITIONS
from derivlint.analysis.scalar_evaluation.values import OPAQUE, DualList
from derivlint.analysis.scalar_evaluation.vocabulary import GRAD_MODE
from derivlint.analysis.shapes.cases import AXES, sample_cases
from derivlint.analysis.small_tensors.tensor import SmallTensor, Value, coordinates
from derivlint.analysis.small_tensors.view_ops import matrix_transposed
from derivlint.formula.vocabulary import words
from derivlint.operators import Book
from derivlint.operators.shapes import size_values
from derivlint.operators.shapes.size_values import UNKNOWN, Sizes
from derivlint.schema import NativeFunction

Values = Mapping[str, Value]

#: The types of arguments that are numbers rather than indices, and of flags.
NUMBERS = ("Scalar", "float")
FLAGS = ("bool",)

#: The maximum number of elements of all tensors of a case.
_SMALL = 110
_USUAL_AXES = (0, 1, -1, (0,), (1,), (-1,))
#: The maximum number of cases.
_CASES = 4
_GOLDEN = 0.6180339887498949
#: The rows with which a factorization has exchanged others, from 1.
_PIVOTS = words("pivots LU_pivots")
#: The operators of complex tensors only.
_OF_COMPLEX = words("_fft_c2c _fft_c2r view_as_real")
#: The operators of complex tensors, or with complex outputs.
WITH_COMPLEX = _OF_COMPLEX | words("_fft_r2c view_as_complex")
#: The ranges of numbers: both signs, and positive ones for operators that need them.
_RANGES = ((-1.7, 1.6), (0.25, 0.85), (1.1, 2.2))


@lru_cache(512)
def _numbers(count: int, salt: int, low: float, high: float) -> tuple[float, ...]:
    """Pseudorandom numbers, distinct and not near zero, in no order: matrices of them have full rank."""
    values = [round(low + (high - low) * ((7 * at + 13 * salt + 1) * _GOLDEN % 1.0), 3) for at in range(count)]
    keys = [(at + 1) * (at + 13 * salt + 7) * _GOLDEN % 1.0 for at in range(count)]
    values = [values[at] for at in sorted(range(count), key=keys.__getitem__)]
    return tuple([x + 0.05 if 0 <= x < 0.05 else x - 0.05 if -0.05 < x < 0 else x for x in values])


def numbers(sizes: Sizes, salt: int, kind: int = 0) -> SmallTensor:
    """A tensor of numbers.

    Args:
        sizes: its sizes.
        salt: the number of the tensor, which makes its elements distinct from other tensors'.
        kind: the index of the range.
    """
    return SmallTensor(sizes, _numbers(math.prod(sizes), salt, *_RANGES[kind]))


def symmetric(tensor: SmallTensor) -> SmallTensor:
    """The symmetric parts of square matrices."""
    pairs = zip(tensor.items, matrix_transposed(tensor).items, strict=True)
    return SmallTensor(tensor.sizes, [(item + mirrored) / 2 for item, mirrored in pairs])


def _positive_definite(tensor: SmallTensor) -> SmallTensor:
    """Symmetric matrices whose diagonals are larger than the sums of their rows."""
    rows, columns = (coordinates(tensor.sizes, len(tensor.sizes) - at) for at in (2, 1))
    least = tensor.sizes[-1] * max(map(abs, tensor.items))
    items = [item + least * (row == at) for item, row, at in zip(symmetric(tensor).items, rows, columns, strict=True)]
    return SmallTensor(tensor.sizes, items)


def _complex_numbers(sizes: Sizes, salt: int, kind: int = 0) -> SmallTensor:
    parts = (numbers(sizes, salt, kind).items, numbers(sizes, salt + 1, kind).items)
    return SmallTensor(sizes, list(map(complex, *parts)))


def is_complex(value: Value) -> bool:
    """Whether a value is a tensor of complex numbers."""
    return type(value) is SmallTensor and len(value.items) > 0 and type(value.items[0]) is complex


def seeds_like(value: Value, salt: int) -> Value:
    """A gradient or tangent for a tensor, or for all tensors of a list."""
    if type(value) is tuple:
        return DualList(seeds_like(tensor, salt + at) for at, tensor in enumerate(value))
    return (_complex_numbers if is_complex(value) else numbers)(value.sizes, 11 + salt)


def small_arguments(function: NativeFunction, differentiable: Collection[str], kind: int) -> Iterator[Values]:
    """The arguments that an operator accepts, with numbers of one kind."""
    small = [arguments for arguments in sample_cases(function) if _size(tuple(arguments.values())) <= _SMALL]
    for arguments in sorted(small, key=_has_usual_axis)[:_CASES]:
        filled = {
            GRAD_MODE: True,
            **{
                name: _filled(name, value, name in differentiable, at, kind)
                if name not in POSITIONS or name in differentiable or name in _PIVOTS
                else _positions(value, arguments)
                for at, (name, value) in enumerate(arguments.items())
                if value is not UNKNOWN
            },
        }
        for name in filled:
            if f"{function.name.base}({name})" in Book.by_hand("positive-definite"):
                filled[name] = _positive_definite(filled[name])
        if function.name.base in _OF_COMPLEX:
            filled["self"] = _complex_numbers(filled["self"].sizes, 0, kind)
        yield filled


def variations(function: NativeFunction, arguments: Values) -> Iterator[Values]:
    """Variants of the arguments: one with all numbers changed, one with all flags inverted.

    Default values hide mistakes: with p = 2 a norm is symmetric, and a factor of 1 may be omitted.
    """
    flipped = {name: not arguments[name] for name in function.arguments_of(*FLAGS) if type(arguments.get(name)) is bool}
    values = [(at, name, arguments.get(name)) for at, name in enumerate(sorted(function.arguments_of(*NUMBERS)))]
    changed = {
        name: value + 1 + at if isinstance(value, int) else 0.8 * value + 0.1
        for at, name, value in values
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    yield from (change for change in (changed, flipped) if change)


def _has_usual_axis(arguments: Values) -> bool:
    """Whether a dimension is one that authors write as a constant instead of the argument."""
    return any(arguments.get(name) in _USUAL_AXES for name in AXES)


def _size(value: Value) -> int:
    if type(value) is Sizes:
        return math.prod(value)
    return sum(map(_size, value)) if type(value) is tuple else 0


def _filled(name: str, value: Value, is_differentiable: bool, salt: int, kind: int) -> Value:
    if type(value) is tuple and any(type(item) is Sizes for item in value):
        return tuple(_filled(name, item, is_differentiable, salt + at, kind) for at, item in enumerate(value))
    if value is size_values.OPAQUE:
        return OPAQUE
    if type(value) is not Sizes:
        return value
    if name in _PIVOTS:
        size = value[-1]
        return SmallTensor(value, [min(at + 2, size) for at in coordinates(value, len(value) - 1)])
    if not is_differentiable and name in MASKS:
        return SmallTensor(value, [at % 3 != 1 for at in range(math.prod(value))])
    return numbers(value, salt, kind)


def _positions(value: Value, arguments: Values, among: int | None = None) -> Value:
    """Distinct indices of elements or along a dimension, descending; repeated if there are too few."""
    if type(value) is tuple:
        own = next(iter(arguments.values()))
        return tuple(_positions(item, arguments, own[at]) for at, item in enumerate(value))
    if type(value) is not Sizes:
        return value
    dim = arguments.get("dim")
    along: Sequence[int] = range(math.prod(value))
    if among is None:
        whole = max((item for item in arguments.values() if type(item) is Sizes), key=len)
        among = math.prod(whole)
        if type(dim) is int and len(whole):
            among = whole[dim]
            along = coordinates(value, dim % len(value))
        elif len(whole) > 3 and len(value) == len(whole):
            # places before pooling in the planes of each channel
            spaces = (item for item in arguments.values() if type(item) is Sizes and len(item) == len(whole))
            among = max(
                math.prod(space) for space in (*(sizes[2:] for sizes in spaces), arguments.get("output_size", ()))
            )
        elif "dim" not in arguments and len(whole) > 1 and len(value) < len(whole):
            # indices of classes, or of rows of a table
            among = 2
    return SmallTensor(value, [(among - 1 - at) % among for at in along])
