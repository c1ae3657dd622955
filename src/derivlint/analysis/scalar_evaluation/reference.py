"""The values of operators on one-element tensors, and derivatives by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from derivlint.analysis.scalar_evaluation.domain import implementation_named
from derivlint.analysis.scalar_evaluation.functions.structure import IDENTITIES, PLACES
from derivlint.analysis.scalar_evaluation.functions.table import Implementation
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value, is_finite
from derivlint.formula.analysis import FAILURES
from derivlint.operators import Book
from derivlint.schema import NativeFunction, SchemaKind

Values = Mapping[str, Value]
#: Steps of central differences, which have to give the same derivative.
STEPS = (2e-5, 1e-4)
#: The maximum relative difference of the two derivatives.
AGREEMENT = 1e-4
#: The step of one-sided differences, and the maximum relative difference of both sides' slopes.
SIDE = 1e-5
ALIKE = 1e-2

#: A random number; any value will do.
DRAWN = 0.625
#: The argument that an in-place operator overwrites.
OVERWRITTEN = "self"
ATEN = "aten"
FOREACH = "_foreach_"


class ReferenceOperator:
    """The value of an operator itself, on numbers or small tensors."""

    def __init__(
        self,
        run: Callable[[Mapping[str, Value]], Value],
        parameters: Mapping[str, str],
        failures: tuple[type[Exception], ...] = FAILURES,
    ) -> None:
        self._run = run
        self._failures = failures
        self._pairs = tuple(parameters.items())
        self._parameters: dict[str, list[str]] = {}
        for parameter, source in self._pairs:
            self._parameters.setdefault(source, []).append(parameter)

    def outputs(self, arguments: Values) -> tuple[Value, ...]:
        """The outputs of the operator.

        Raises:
            UnknownValueError: the arguments are outside its domain.
        """
        return self._called(self._bound(arguments))

    def completed(self, arguments: Values) -> Values:
        """The arguments with the values that are saved by another operator."""
        return arguments

    def _bound(self, arguments: Values) -> dict[str, Value]:
        """The values of the parameters."""
        return {name: arguments[source] for name, source in self._pairs if source in arguments}

    def _called(self, values: dict[str, Value]) -> tuple[Value, ...]:
        try:
            outputs = self._run(values)
        except self._failures as failure:
            raise UnknownValueError from failure
        return outputs if type(outputs) is tuple else (outputs,)

    def slopes(self, arguments: Values, name: str, direction: Value, *, certain: bool) -> tuple[Value, ...]:
        """The derivatives of the outputs by one argument, along a direction, 1 or 1j.

        Args:
            arguments: the values of all arguments.
            name: the argument to vary.
            direction: its direction.
            certain: whether a second step has to yield the same.

        Raises:
            UnknownValueError: there is no derivative, or it is uncertain.
        """
        slopes = self._differences(arguments, name, direction, STEPS[0])
        if certain:
            for slope, check in zip(slopes, self._differences(arguments, name, direction, STEPS[1]), strict=True):
                if not abs(slope - check) <= AGREEMENT * (abs(slope) + 1):
                    raise UnknownValueError
        return slopes

    def is_smooth(self, arguments: Values, name: str) -> bool:
        """Whether the one-sided derivatives agree.

        Raises:
            UnknownValueError: the operator has no value there.
        """
        values = self._bound(arguments)
        moved = self._parameters.get(name, ())
        below, center, above = (self._moved(values, moved, arguments[name] + step) for step in (-SIDE, 0.0, SIDE))
        rises = [(value - low, high - value) for low, value, high in zip(below, center, above, strict=True)]
        return all(abs(before - after) <= ALIKE * (abs(before) + SIDE) for before, after in rises)

    def _moved(self, values: dict[str, Value], names: Iterable[str], value: Value) -> tuple[Value, ...]:
        for name in names:
            values[name] = value
        return self._called(values)

    def _differences(self, arguments: Values, name: str, direction: Value, step: float) -> tuple[Value, ...]:
        values = self._bound(arguments)
        center = arguments[name]
        if not is_finite(center):
            raise UnknownValueError
        moved = self._parameters.get(name, ())
        above = self._moved(values, moved, center + direction * step)
        below = self._moved(values, moved, center - direction * step)
        try:
            differences = tuple([(high - low) / (2 * step) for high, low in zip(above, below, strict=True)])
        except FAILURES as failure:
            # one side is not a number: a mask, an absent value
            raise UnknownValueError from failure
        for difference in differences:
            if not is_finite(difference):
                raise UnknownValueError
        return differences


class _DrawnReference(ReferenceOperator):
    """The reference of an operator that draws numbers into a tensor: the old value is lost, the rest unknown."""

    def _differences(self, arguments: Values, name: str, direction: Value, step: float) -> tuple[Value, ...]:
        if name != OVERWRITTEN:
            raise UnknownValueError
        return (0.0,)


def reference_of(function: NativeFunction) -> ReferenceOperator | None:
    """The reference of an operator; None if it is neither in the table nor defined."""
    if function.namespace == ATEN and function.name.base in Book.by_hand("drawn"):
        return _DrawnReference(lambda _: DRAWN, {}) if function.schema.kind is SchemaKind.inplace else None
    bound = bound_operator(function, implementation_named, PLACES)
    return None if bound is None else ReferenceOperator(*bound)


def bound_operator(
    function: NativeFunction, named: Callable[[str], Implementation | None], ignored: Collection[str]
) -> tuple[Callable[[Mapping[str, Value]], Value], Mapping[str, str]] | None:
    """The implementation of an operator and the argument for each parameter; None if unknown.

    Arguments are bound as in a call; an argument without a parameter makes the operator unknown.

    Args:
        function: the operator.
        named: looks up an operator by name.
        ignored: the names of arguments to ignore.
    """
    if function.namespace != ATEN:
        return None
    base = function.name.base.removeprefix(FOREACH)
    implementation = named(base)
    if implementation is None:
        return None
    names = [argument.name for argument in function.schema.arguments.flat_non_out]
    if implementation.by_position or function.name.is_foreach:
        if len(names) < implementation.required:
            return None
        pairs = zip(implementation.parameters, names, strict=False)
        further = function.schema.arguments.flat_non_out[len(implementation.parameters) :]
        if base not in IDENTITIES and any(argument.type.is_tensor_like for argument in further):
            return None
        return implementation.run, dict(pairs)
    bound = {name: name for name in names if name in implementation.parameters}
    unknown = [name for name in names if name not in bound and name not in ignored]
    if any(f"_{name}" not in implementation.parameters for name in unknown):
        return None
    required = implementation.parameters[: implementation.required]
    if any(name not in bound and name[0] != "_" for name in required):
        return None
    if "dim" in implementation.parameters and "dim" not in names:
        bound.pop("dim", None)
    return implementation.run, bound
