"""Gradients that the variables of a formula do not determine, whatever the helpers that it calls compute.

Two calls of the operator give all variables of the formula the same values, and have different gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from derivlint.analysis.scalar_evaluation.compare import differ
from derivlint.analysis.scalar_evaluation.values import OPAQUE, UnknownValueError
from derivlint.analysis.shapes.cases import output_sizes
from derivlint.analysis.small_tensors.domain import FAILURES, is_elementwise, property_of
from derivlint.analysis.small_tensors.evaluate import unsupported_nodes
from derivlint.analysis.small_tensors.inputs import NUMBERS, Values, numbers
from derivlint.analysis.small_tensors.points import TensorPoint, gradient_of, point_at, product, salt, variables_of
from derivlint.analysis.small_tensors.tensor import SmallTensor, Value, sizes_of
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Call
from derivlint.operators.shapes import size_values
from derivlint.operators.shapes.size_functions import broadcast
from derivlint.operators.shapes.size_values import UNKNOWN, Sizes
from derivlint.operators.special import NOT_IMPLEMENTED
from derivlint.schema import NativeFunction

#: Other values of integers.
_INTEGERS = (1, 0, 2)
#: Numbers at which a function may have equal values, and the number of bisections between two of them.
_GRID = SmallTensor(Sizes((48,)), [0.13 * at - 3.01 for at in range(48)])
_BISECTIONS = 48
#: The values of what is not known, such as strides.
_UNKNOWN = frozenset(map(id, (OPAQUE, size_values.OPAQUE, UNKNOWN)))
#: The largest difference of equal outputs.
_EQUAL = 1e-9


class Undetermined(Struct, frozen=True):
    """A gradient that the variables of a formula do not determine.

    Attributes:
        at: a point at which the formula cannot be right.
        reason: the reason.
        name: the argument whose gradient it is.
        needed: the argument that it depends on.
    """

    at: TensorPoint
    reason: str
    name: str
    needed: str


def undetermined(
    formula: TypedFormula, helpers: frozenset[str], function: NativeFunction, point: TensorPoint
) -> Undetermined | None:
    """Find a point at which a formula cannot be right.

    Args:
        formula: the formula.
        helpers: the unknown functions that it calls.
        function: the operator.
        point: the point of which one argument is changed.
    """
    if any(value.type.is_list_like for value in function.schema.returns) or not point.signature.differentiable:
        return None
    for written in formula.written.names:
        name = written.text
        if name not in point.signature.inputs or type(point.arguments.get(name)) is not SmallTensor:
            continue
        try:
            variables = _key(formula, helpers, point)
            for changed, arguments in _alternatives(formula, point, name):
                if output_sizes(function, {key: sizes_of(value) for key, value in arguments.items()}) is UNKNOWN:
                    continue
                further = point_at(point.operator, point.signature, arguments, point.used)
                if further is None or _key(formula, helpers, further) != variables:
                    continue
                relation = _difference(point, further, name)
                if relation:
                    varied = point.varied | {changed}
                    reason = f'{relation} "{changed}", which the formula does not use'
                    return Undetermined(replace(point, varied=varied), reason, name, changed)
            collision = _collision(formula, function, point, name)
        except UnknownValueError:
            continue
        if collision is not None:
            return Undetermined(*collision, name, name)
    return None


def unknown_helpers(formula: TypedFormula) -> frozenset[str]:
    """The called functions with unknown values; empty if anything else in the formula is unknown."""
    unknown = unsupported_nodes(formula)
    calls = [formula.call(node) for node in unknown if isinstance(node, Call)]
    names = frozenset("" if call is None or call.is_method else call.spelling for call in calls)
    return names if len(calls) == len(unknown) and names.isdisjoint(("", NOT_IMPLEMENTED)) else frozenset()


def _key(formula: TypedFormula, helpers: frozenset[str], point: TensorPoint) -> list[Value]:
    """The values of a formula's variables.

    Raises:
        UnknownValueError: one of them is unknown.
    """
    variables = variables_of(formula, point)
    key = []
    for name in sorted(formula.variables):
        owner, read = property_of(name)
        try:
            if name in variables:
                key.append(_plain(variables[name]))
            elif read is not None:
                key.append(_plain(read(variables[owner])))
            elif name not in helpers:
                raise UnknownValueError
        except FAILURES as failure:
            raise UnknownValueError from failure
    if not _UNKNOWN.isdisjoint(map(id, key)):
        raise UnknownValueError
    return key


def _plain(value: Value) -> Value:
    if type(value) is SmallTensor:
        return tuple(value.sizes), tuple(value.items)
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _alternatives(formula: TypedFormula, point: TensorPoint, name: str) -> Iterator[tuple[str, Values]]:
    """Calls that differ in one argument that the formula does not use."""
    # the sizes of several tensors depend on each other
    is_only_tensor = sum(type(value) is SmallTensor for value in point.arguments.values()) == 1
    for changed, value in point.arguments.items():
        if changed in formula.variables:
            continue
        values: list[Value] = []
        if isinstance(value, bool):
            values = [not value]
        elif isinstance(value, int):
            values = [number for number in _INTEGERS if number != value]
        elif isinstance(value, float):
            values = [0.8 * value + 0.1]
        elif type(value) is SmallTensor and changed in point.signature.inputs:
            values = [SmallTensor(value.sizes, [0.9 * item + 0.05 for item in value.items])]
        if changed == name and is_only_tensor:
            for dim, size in enumerate(value.sizes):
                values.append(numbers(Sizes((*value.sizes[:dim], size + 1, *value.sizes[dim + 1 :])), salt(name)))
        for alternative in values:
            yield changed, {**point.arguments, changed: alternative}


def _difference(point: TensorPoint, further: TensorPoint, name: str) -> str:
    """The reason why an argument has different gradients at two points, or an empty string."""
    own, further_own = point.arguments[name], further.arguments[name]
    if own.sizes != further_own.sizes:
        try:
            # the engine sums a gradient to the sizes of the argument
            broadcast(own.sizes, further_own.sizes)
        except FAILURES:
            return "it has the sizes of"
        return ""
    totals = [
        sum(product(gradient, item.direction(name)[output]) for output, gradient in item.gradients.items())
        for item in (point, further)
    ]
    if not differ(*totals):
        return ""
    gradients = [gradient_of(item, name, item.gradients) for item in (point, further)]
    return "it depends on" if any(map(differ, *gradients)) else ""


def _collision(
    formula: TypedFormula, function: NativeFunction, point: TensorPoint, name: str
) -> tuple[TensorPoint, str] | None:
    """A point at which the output does not determine the gradient, with the reason."""
    tensors = [argument for argument, value in point.arguments.items() if type(value) is SmallTensor]
    if name in formula.variables or tensors != [name] or not is_elementwise(function.name.base):
        return None
    calls = [point.arguments]
    for number in sorted(function.arguments_of(*NUMBERS)):
        value = point.arguments.get(number)
        if number in formula.variables and isinstance(value, (int, float)):
            calls.append({**point.arguments, number: -value})
    for arguments in calls:
        numbers_with_same = _numbers_with_same_output(point, arguments, name)
        if numbers_with_same is not None:
            first, second = numbers_with_same
            reason = f"{first:.3g} and {second:.3g} have the same output, but not the same derivative"
            return replace(point, arguments=arguments), reason
    return None


def _numbers_with_same_output(point: TensorPoint, arguments: Values, name: str) -> tuple[float, float] | None:
    def at(tensor: SmallTensor) -> tuple[Value, Value]:
        moved = point_at(point.operator, point.signature, {**arguments, name: tensor}, point.used)
        if moved is None or len(moved.outputs) != 1:
            raise UnknownValueError
        (output,) = moved.outputs.values()
        slopes = moved.certain({name: SmallTensor(tensor.sizes, [1.0] * len(tensor.items))})
        return output.items, next(iter(slopes.values())).items

    try:
        outputs, slopes = at(_GRID)
    except UnknownValueError:
        return None
    for number, output, slope in zip(_GRID.items, outputs, slopes, strict=True):
        for (low, below), (high, above) in pairwise(zip(_GRID.items, outputs, strict=True)):
            if (below - output) * (above - output) >= 0:
                continue
            low_is_below = below < output
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                (value,), (slope_there,) = at(SmallTensor(Sizes((1,)), [middle]))
                if (value < output) is low_is_below:
                    low = middle
                else:
                    high = middle
            if abs(value - output) < _EQUAL and differ(slope, slope_there):
                return number, middle
    return None
