"""Compares formulas with the derivatives of the operator, and backward with forward formulas.

A loss is real: its gradient for a complex number z is the gradient for the real part plus i times the one for the
imaginary part, as PyTorch has it. With the gradient g of the output w, that is Re(conj(g) dw/dx) + i Re(conj(g) dw/dy).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.formula_compiler import called_names
from derivlint.analysis.scalar_evaluation.evaluate import compile_formula
from derivlint.analysis.scalar_evaluation.functions.structure import PLAIN
from derivlint.analysis.scalar_evaluation.points import POINTS, RANGES, NumberKind, PointArguments, direction
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, Values, components, signature_of
from derivlint.analysis.scalar_evaluation.truth import FOREACH, Truth
from derivlint.analysis.scalar_evaluation.values import NotFiniteError, UnknownValueError, Value, conj, is_finite
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability, DispatchBody
from derivlint.model.generated.forward import TANGENT
from derivlint.model.generated.gradients import GRAD, GRADS, NAMED_PREFIX
from derivlint.operators import Book, holds_for
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.shapes.sizes import is_broadcasting
from derivlint.schema import NativeFunction

#: Relative difference of two numbers that are not equal.
DIFFERENT = 1e-3
#: At how many points a formula has to be wrong.
WITNESSES = 1
#: At how many points of each kind a formula is evaluated.
ENOUGH = {NumberKind.REAL: 6, NumberKind.COMPLEX: 2, NumberKind.MIXED: 4}
#: At how many points a formula that never is has to be infinite.
NEVER = 3
#: The same for operators that only move elements.
ENOUGH_OF_IDENTITY = 2
#: The same for operators that are not element by element; these are compared on small tensors as well.
ENOUGH_OF_SEVERAL = 3
#: After how many points at which nothing is known a formula is given up.
PATIENCE = 4
DTYPE = "dtype"
#: Operators that take real and complex tensors together.
PROMOTING = Book.by_hand("promotes-types")


class Disagreement(Struct, frozen=True):
    """A formula that is wrong for one-element tensors.

    Attributes:
        formula: the formula.
        name: the argument whose gradient, or the output whose tangent is wrong.
        at: arguments and the gradient or the tangent, for which it is wrong.
        expected: the right value.
        found: the value of the formula.
        other: the formula that it contradicts; None where it contradicts the operator itself.
    """

    formula: TypedFormula
    name: str
    at: tuple[tuple[str, Value], ...]
    expected: Value
    found: Value
    other: TypedFormula | None = None


class NotFinite(Struct, frozen=True):
    """A formula that is infinite or not a number.

    Attributes:
        formula: the formula.
        at: arguments and the gradients or the tangents, for which it is.
    """

    formula: TypedFormula
    at: tuple[tuple[str, Value], ...]


def differ(expected: Value, found: Value) -> bool:
    """Whether two numbers are clearly not equal."""
    try:
        return bool(abs(expected - found) > DIFFERENT * max(abs(expected), abs(found), 1e-3))
    except OverflowError:
        # the absolute value of a complex number may be too large though both of its parts are finite
        return False


class Trial(Struct):
    """A formula while it is compared.

    Attributes:
        formula: the formula.
        names: the arguments or outputs of its key.
        evaluate: the formula as a function.
        known: at how many points of a kind its value is known.
        unknown: at how many points in a row it is not.
        compared: the kinds of points at which its value is known.
        witnesses: where it is wrong.
        infinite: where it is not finite though the operator has a derivative.
    """

    formula: TypedFormula
    names: tuple[str, ...]
    evaluate: Evaluator
    known: int = 0
    unknown: int = 0
    compared: set[NumberKind] = field(default_factory=set)
    witnesses: list[Disagreement] | None = None
    infinite: list[NotFinite] = field(default_factory=list)

    def is_done(self, enough: int) -> bool:
        """Whether nothing more can be learned at points of one kind."""
        return self.known >= enough or self.unknown >= PATIENCE or len(self.witnesses or ()) >= WITNESSES


def trials_of(formulas: Iterable[TypedFormula]) -> list[Trial]:
    """The formulas that can be compared."""
    trials = []
    for formula in formulas:
        evaluate = compile_formula(formula) if formula.written.auto is None else None
        if evaluate is not None:
            trials.append(Trial(formula, tuple(name.text for name in formula.written.names), evaluate))
    return trials


class Point(Struct, frozen=True):
    """An operator at a point."""

    truth: Truth
    signature: EvaluationSignature
    arguments: Values
    outputs: Values
    number: int
    slopes: dict[tuple[str, Value, bool], dict[str, Value]] = field(default_factory=dict)

    def slope(self, name: str, along: Value, certain: bool) -> dict[str, Value]:
        """The derivatives of the outputs where one argument moves."""
        found = self.slopes.get((name, along, certain))
        if found is None:
            slopes = self.truth.slopes(self.arguments, name, along, certain=certain)
            found = self.slopes[name, along, certain] = dict(zip(self.signature.outputs, slopes, strict=False))
        return found

    def gradient(self, name: str, gradients: Values, *, certain: bool) -> Value:
        """The gradient of an argument."""
        slope = self.slope(name, 1.0, certain)
        real = sum((conj(value) * slope[output]).real for output, value in gradients.items())
        if type(self.arguments[name]) is not complex:
            return real
        slope = self.slope(name, 1j, certain)
        return complex(real, sum((conj(value) * slope[output]).real for output, value in gradients.items()))

    def tangent(self, name: str, tangents: Values, *, certain: bool) -> Value:
        """The tangent of an output."""
        total: Value = 0.0
        for argument, value in tangents.items():
            if value:
                total += self.slope(argument, 1.0, certain)[name] * value.real
                if type(value) is complex:
                    total += self.slope(argument, 1j, certain)[name] * value.imag
        return total


def wrong_formulas(trials: Iterable[Trial]) -> Iterator[Disagreement]:
    """The formulas of a dispatch key that contradict the operator's own value, each once."""
    for trial in trials:
        if trial.witnesses is not None and len(trial.witnesses) >= WITNESSES:
            yield trial.witnesses[0]


def finite_nowhere(function: NativeFunction, trials: Iterable[Trial]) -> Iterator[NotFinite]:
    """The formulas that are not finite at any point, each once.

    What takes several elements together may well be finite for more than one, whose mean is another number.
    """
    if not is_broadcasting(function.name.base.removeprefix(FOREACH)):
        return
    for trial in trials:
        if trial.compared or len(trial.infinite) < NEVER:
            continue
        if all(map(is_broadcasting, called_names(trial.formula))):
            yield trial.infinite[0]


def compared(
    analyses: FormulaAnalyses, body: DispatchBody, differentiability: Differentiability, truth: Truth
) -> Sequence[Trial]:
    """The formulas of a dispatch key, compared with the operator's own value where both are known."""
    function = differentiability.function
    signature = signature_of(differentiability)
    trials = trials_of(analyses.formulas_of(body))
    if not signature.inputs or not trials:
        return ()
    used = used_outputs(signature, trials)
    arguments_of = PointArguments(function, signature.inputs)
    most = len(RANGES)
    if function.name.base in PLAIN:
        most = ENOUGH_OF_IDENTITY
    elif not is_broadcasting(function.name.base.removeprefix(FOREACH)):
        most = ENOUGH_OF_SEVERAL
    for kind in _kinds(analyses, function):
        enough = min(ENOUGH[kind], most)
        for trial in trials:
            trial.known = trial.unknown = 0
        for number in range(POINTS):
            active = [trial for trial in trials if not trial.is_done(enough)]
            if not active:
                break
            arguments = arguments_of.at(kind, number)
            try:
                outputs = truth.outputs(arguments)
            except UnknownValueError:
                continue
            if not _is_usable(outputs):
                continue
            point = Point(truth, signature, arguments, dict(zip(signature.outputs, outputs, strict=False)), number)
            for trial in active:
                known = trial.known
                _judge(trial, point, used)
                if trial.known > known:
                    trial.compared.add(kind)
    return trials


def used_outputs(signature: EvaluationSignature, trials: Iterable[Trial]) -> frozenset[str]:
    """The outputs whose gradients the backward formulas use."""
    return frozenset().union(*(signature.gradients(trial.formula) for trial in trials if trial.formula.is_backward))


def _is_usable(outputs: tuple[Value, ...]) -> bool:
    return all(is_finite(output) for output in outputs)


def _kinds(analyses: FormulaAnalyses, function: NativeFunction) -> tuple[NumberKind, ...]:
    book = analyses.model.book
    if not book.is_complex_differentiable(function) and (
        not book.takes_complex(function) or any(each.name == DTYPE for each in function.schema.arguments.flat_non_out)
    ):
        # with a type for its real result, such an operator refuses complex numbers
        return (NumberKind.REAL,)
    if not holds_for(analyses.model.natives):
        return (NumberKind.REAL,)
    if function.name.base in PROMOTING:
        return (NumberKind.REAL, NumberKind.COMPLEX, NumberKind.MIXED)
    return (NumberKind.REAL, NumberKind.COMPLEX)


def _judge(trial: Trial, point: Point, used: frozenset[str]) -> None:
    try:
        found = _wrong_gradient(trial, point, used) if trial.formula.is_backward else _wrong_tangent(trial, point)
    except NotFiniteError:
        trial.unknown += 1
        at = _not_finite_at(trial, point, used)
        if at is not None:
            trial.infinite.append(NotFinite(trial.formula, at))
        return
    except UnknownValueError:
        trial.unknown += 1
        return
    trial.unknown = 0
    trial.known += 1
    if found is not None:
        trial.witnesses = [*(trial.witnesses or ()), found]


def _not_finite_at(trial: Trial, point: Point, used: frozenset[str]) -> tuple[tuple[str, Value], ...] | None:
    """Where a formula is not finite; None where the operator has no derivative there, either."""
    directions = directions_of(trial.formula, point, used)
    judged = point.signature.inputs if trial.formula.is_backward else point.signature.differentiable
    right_value = point.gradient if trial.formula.is_backward else point.tangent
    try:
        for name in trial.names:
            if name in judged:
                right_value(name, directions, certain=True)
    except UnknownValueError:
        return None
    return shown(trial.formula, point, directions)


def directions_of(formula: TypedFormula, point: Point, used: frozenset[str]) -> dict[str, Value]:
    """Gradients of the outputs whose gradients are used, or tangents of the given arguments, the same at all points."""
    if formula.is_backward:
        return _directions(point.outputs, tuple(name for name in point.signature.differentiable if name in used), 0)
    given = tuple(name for name in point.signature.inputs if point.arguments.get(name) is not None)
    return _directions(point.arguments, given, 0)


def _directions(values: Values, names: tuple[str, ...], number: int) -> dict[str, Value]:
    return {
        name: direction(number, position, is_complex=type(values[name]) is complex)
        for position, name in enumerate(names)
    }


def linear_value(trial: Trial, environment: Values, opposite: Values) -> tuple[Value, ...]:
    """The value of a formula that is linear: at minus two times the direction it is minus two times as great.

    Raises:
        UnknownValueError: it is not linear, which is another fault, or not known.
    """
    count = len(trial.names)
    found = components(trial.evaluate, environment, count)
    for one, other in zip(found, components(trial.evaluate, opposite, count), strict=True):
        if one is not None and other is not None and differ(-2 * one, other):
            raise UnknownValueError
    return found


def _times(values: Values, factor: float) -> dict[str, Value]:
    return {name: factor * value for name, value in values.items()}


def _wrong_gradient(trial: Trial, point: Point, used: frozenset[str]) -> Disagreement | None:
    names = tuple(name for name in point.signature.differentiable if name in used)
    if any(name not in point.outputs for name in names):
        raise UnknownValueError
    return _simplest(trial, point, _directions(point.outputs, names, point.number))


def _wrong_tangent(trial: Trial, point: Point) -> Disagreement | None:
    names = tuple(name for name in point.signature.inputs if point.arguments.get(name) is not None)
    used = trial.formula.variables
    if not any(name.endswith(TANGENT) or name in point.signature.joined for name in used):
        # that it has no tangent says another rule
        raise UnknownValueError
    return _simplest(trial, point, _directions(point.arguments, names, point.number))


def _simplest(trial: Trial, point: Point, directions: Values) -> Disagreement | None:
    """What is wrong with a formula, in one direction if that is enough."""
    found = _differs(trial, point, directions)
    if found is None:
        return None
    for plain in _single_directions(directions):
        simpler = _differs(trial, point, plain)
        if simpler is not None:
            return simpler
    return found


def _differs(trial: Trial, point: Point, directions: Values) -> Disagreement | None:
    """The first gradient, or the first tangent, that is not the operator's."""
    signature = point.signature
    is_backward = trial.formula.is_backward
    variables_with = signature.backward if is_backward else signature.forward
    right_value = point.gradient if is_backward else point.tangent
    known, judged = (point.arguments, signature.inputs) if is_backward else (point.outputs, signature.differentiable)
    environment = variables_with(point.arguments, point.outputs, directions)
    found = components(trial.evaluate, environment, len(trial.names))
    for name, value in zip(trial.names, found, strict=True):
        if (
            value is None
            or name not in known
            or name not in judged
            or not differ(right_value(name, directions, certain=False), value)
        ):
            continue
        expected = right_value(name, directions, certain=True)
        opposite = variables_with(point.arguments, point.outputs, _times(directions, -2))
        linear_value(trial, environment, opposite)
        if differ(expected, value):
            return Disagreement(trial.formula, name, shown(trial.formula, point, directions), expected, value)
    return None


def _single_directions(directions: Values) -> Iterator[dict[str, Value]]:
    """The same with one direction 1 and no other, which is easier to read."""
    for name in directions:
        yield {other: type(value)(other == name) for other, value in directions.items()}


def shown(formula: TypedFormula, point: Point, directions: Values) -> tuple[tuple[str, Value], ...]:
    """The values that a reader needs: of the differentiable arguments, of numbers, of the directions."""
    mentioned = formula.variables
    shown = [
        (name, value)
        for name, value in point.arguments.items()
        if name in point.signature.inputs or (name in mentioned and _is_plain(value))
    ]
    for name, value in directions.items():
        if value:
            shown.append(
                (_gradient_name(formula, point.signature, name) if formula.is_backward else name + TANGENT, value)
            )
    return tuple(shown)


def _is_plain(value: Value) -> bool:
    return value is None or isinstance(value, (bool, float, complex))


def _gradient_name(formula: TypedFormula, signature: EvaluationSignature, output: str) -> str:
    names = formula.variables
    if NAMED_PREFIX + output in names:
        return NAMED_PREFIX + output
    return f"{GRADS}[{signature.differentiable.index(output)}]" if GRADS in names else GRAD
