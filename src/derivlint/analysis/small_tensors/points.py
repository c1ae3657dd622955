"""Points of operators on small tensors: arguments and outputs, and derivatives by finite differences."""

from __future__ import annotations

import cmath
from collections.abc import Iterator, Mapping, Sequence
from operator import mul

from msgspec import Struct, field
from msgspec.structs import replace

from derivlint.analysis.scalar_evaluation.points import POSITIONS
from derivlint.analysis.scalar_evaluation.reference import ReferenceOperator
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature
from derivlint.analysis.scalar_evaluation.values import DualList, UnknownValueError
from derivlint.analysis.small_tensors.domain import FAILURES
from derivlint.analysis.small_tensors.inputs import (
    Values,
    is_complex,
    seeds_like,
    small_arguments,
    symmetric,
    variations,
)
from derivlint.analysis.small_tensors.tensor import SmallTensor, Value, sizes_of
from derivlint.analysis.typed import TypedFormula
from derivlint.model.generated.gradients import GRAD, GRADS
from derivlint.operators.shapes.size_values import Sizes
from derivlint.schema import NativeFunction
from derivlint.source.lazy import cached_property

#: The step of one-sided differences, the steps of central differences, and the relative difference that these may have.
_STEP = 1e-6
_STEPS = (2e-5, 1e-4)
_AGREEMENT = 1e-4
#: The kinds of numbers to try in turn; the first one that the operator accepts counts.
_KINDS = (0, 1, 2)
#: The types of arguments in a message; for tensors, their sizes.
_SHOWN = (Sizes, tuple, bool, int, float, str)
#: The maximum number of indices in a message.
_MOST_SHOWN = 10


class TensorPoint(Struct, frozen=True, dict=True):
    """An operator with arguments."""

    operator: ReferenceOperator
    signature: EvaluationSignature
    arguments: Values
    outputs: Mapping[str, Value]
    used: frozenset[str]
    varied: frozenset[str] = frozenset()
    derivatives: dict[str, Mapping[str, Value]] = field(default_factory=dict)

    @cached_property
    def gradients(self) -> Mapping[str, Value]:
        """The gradients of outputs."""
        outputs = self.outputs
        return {
            name: seeds_like(outputs[name], salt(name)) for name in self.signature.differentiable if name in self.used
        }

    def along(self, moves: Mapping[str, Value]) -> dict[str, Value]:
        """The approximate derivatives of the differentiable outputs along moves of arguments."""
        return self._slopes(self._outputs(moves, _STEP), self.outputs, _STEP)

    def _outputs(self, moves: Mapping[str, Value], step: float) -> Mapping[str, Value]:
        outputs = self.operator.outputs({**self.arguments, **_moved(self.arguments, moves, step)})
        return dict(zip(self.signature.outputs, outputs, strict=False))

    def _slopes(self, above: Mapping[str, Value], below: Mapping[str, Value], width: float) -> dict[str, Value]:
        try:
            return {name: _difference(above[name], below[name], width) for name in self.signature.differentiable}
        except FAILURES as failure:
            raise UnknownValueError from failure

    def certain(self, moves: Mapping[str, Value]) -> dict[str, Value]:
        """The derivatives by central differences, if two steps agree.

        Raises:
            UnknownValueError: they differ.
        """
        slopes, repeated = (
            self._slopes(self._outputs(moves, step), self._outputs(moves, -step), 2 * step) for step in _STEPS
        )
        for slope, repeated_slope in zip(slopes.values(), repeated.values(), strict=True):
            for element, repeated_element in zip(elements(slope), elements(repeated_slope), strict=True):
                if not abs(element - repeated_element) <= _AGREEMENT * (abs(element) + 1):
                    raise UnknownValueError
        return slopes

    def direction(self, name: str) -> Mapping[str, Value]:
        """The derivatives along one argument's seed."""
        derivatives = self.derivatives.get(name)
        if derivatives is None:
            derivatives = self.derivatives[name] = self.along({name: self.move(name)})
        return derivatives

    @cached_property
    def moving(self) -> tuple[str, ...]:
        """The inputs that are tensors or lists; a position is a number here, such as "start" of "narrow.Tensor"."""
        return tuple(name for name in self.signature.inputs if type(self.arguments.get(name)) in (SmallTensor, tuple))

    def move(self, name: str) -> Value:
        """The seed along which an argument moves, as its tangent does."""
        seed = seeds_like(self.arguments[name], salt(name))
        return symmetric(seed) if name in self.signature.symmetric else seed


def salt(name: str) -> int:
    """A small number that depends on a name."""
    return sum(map(ord, name)) % 17


def _moved(arguments: Values, moves: Mapping[str, Value], step: float) -> dict[str, Value]:
    return {name: _plus(arguments[name], move, step) for name, move in moves.items()}


def _plus(value: Value, move: Value, step: float) -> Value:
    if type(value) is tuple:
        return tuple(_plus(part, by, step) for part, by in zip(value, move, strict=True))
    return SmallTensor(value.sizes, [item + step * by for item, by in zip(value.items, move.items, strict=True)])


def _difference(above: Value, below: Value, width: float) -> Value:
    if type(above) is tuple:
        return tuple(_difference(upper, lower, width) for upper, lower in zip(above, below, strict=True))
    if above.sizes != below.sizes:
        raise UnknownValueError
    items = [(upper - lower) / width for upper, lower in zip(above.items, below.items, strict=True)]
    if not all(map(cmath.isfinite, items)):
        raise UnknownValueError
    return SmallTensor(above.sizes, items)


def elements(value: Value) -> Sequence[float]:
    """The elements of a tensor, or of all tensors of a list."""
    if isinstance(value, tuple):
        return [element for tensor in value for element in elements(tensor)]
    return value.items  # type: ignore[no-any-return]


def product(one: Value, two: Value) -> float:
    """The inner product of two tensors or lists; of complex numbers as pairs of real ones."""
    total = sum(map(mul, elements(one), elements(two)))
    if type(total) is complex:
        total = sum(
            (first.conjugate() * second).real for first, second in zip(elements(one), elements(two), strict=True)
        )
    return float(total)


def points_of(
    operator: ReferenceOperator, function: NativeFunction, signature: EvaluationSignature, used: frozenset[str]
) -> Iterator[TensorPoint]:
    """The points of an operator, with gradients of the outputs that formulas use."""
    for kind in _KINDS:
        count = 0
        for arguments in small_arguments(function, signature.inputs, kind):
            point = point_at(operator, signature, arguments, used)
            if point is None:
                continue
            count += 1
            yield point
            for varied in variations(function, arguments):
                point = point_at(operator, signature, {**arguments, **varied}, used)
                if point is not None:
                    yield replace(point, varied=frozenset(varied))
        if count:
            return


def point_at(
    operator: ReferenceOperator, signature: EvaluationSignature, arguments: Values, used: frozenset[str]
) -> TensorPoint | None:
    """The point with some arguments, or None if the operator does not accept them."""
    try:
        arguments = operator.completed(arguments)
        outputs = operator.outputs(arguments)
    except UnknownValueError:
        return None
    named = dict(zip(signature.outputs, outputs, strict=False))
    if all(type(named.get(name)) in (SmallTensor, tuple) for name in signature.differentiable):
        return TensorPoint(operator, signature, arguments, named, used)
    return None


def variables_of(formula: TypedFormula, point: TensorPoint) -> dict[str, Value]:
    """The variables of a formula at a point."""
    signature = point.signature
    if formula.is_backward:
        variables = signature.backward(point.arguments, point.outputs, point.gradients)
        if type(variables[GRAD]) is DualList:
            # the gradients of a list of outputs
            variables[GRADS] = variables[GRAD]
        return variables
    tangents = {name: point.move(name) for name in point.moving}
    variables = signature.forward(point.arguments, point.outputs, tangents)
    for name, tangent in tangents.items():
        if type(tangent) is DualList:
            variables[name] = listed = DualList(point.arguments[name])
            listed.tangents = tuple(tangent)
    return variables


def gradient_of(point: TensorPoint, name: str, gradients: Mapping[str, Value]) -> Value:
    """The correct gradient of an argument, element by element."""
    own = point.arguments[name]
    units: list[Value]
    if type(own) is tuple:
        units = [
            tuple(_unit(other_tensor, at if index == position else -1) for index, other_tensor in enumerate(own))
            for position, tensor in enumerate(own)
            for at in range(len(tensor.items))
        ]
    else:
        units = [_unit(own, at) for at in range(len(own.items))]

    def along(unit: Value) -> float:
        slopes = point.certain({name: unit})
        return sum(product(gradient, slopes[output]) for output, gradient in gradients.items())

    if is_complex(own):
        return [along(unit) + 1j * along(_scaled(unit, 1j)) for unit in units]
    return list(map(along, units))


def _unit(tensor: SmallTensor, at: int) -> SmallTensor:
    return SmallTensor(tensor.sizes, [float(place == at) for place in range(len(tensor.items))])


def _scaled(tensor: SmallTensor, factor: complex) -> SmallTensor:
    return SmallTensor(tensor.sizes, [factor * item for item in tensor.items])


def shown_arguments(point: TensorPoint) -> tuple[tuple[str, Value], ...]:
    """The arguments to show in a message; for tensors, their sizes."""
    arguments = (
        (name, _positions(value) if name in POSITIONS else sizes_of(value)) for name, value in point.arguments.items()
    )
    return tuple((name, value) for name, value in arguments if type(value) in _SHOWN)


def _positions(value: Value) -> Value:
    """Replace tensors of few integers by lists: repeated indices may be the cause."""
    if type(value) is tuple:
        return tuple(map(_positions, value))
    if type(value) is not SmallTensor or len(value.items) > _MOST_SHOWN or set(map(type, value.items)) != {int}:
        return sizes_of(value)
    rows: tuple[Value, ...] = tuple(value.items)
    for size in reversed(value.sizes[1:]):
        rows = tuple(rows[at : at + size] for at in range(0, len(rows), size))
    return rows
