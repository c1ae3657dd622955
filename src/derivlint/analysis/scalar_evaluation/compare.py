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
from derivlint.analysis.scalar_evaluation.points import POINTS, RANGES, NumberKind, direction, point_arguments
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, Values, components, signature_of
from derivlint.analysis.scalar_evaluation.truth import FOREACH, Truth
from derivlint.analysis.scalar_evaluation.values import NotFiniteError, UnknownValueError, Value, conj, is_finite
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability
from derivlint.model.generated.forward import TANGENT
from derivlint.model.generated.gradients import GRAD, GRADS, NAMED_PREFIX
from derivlint.operators import Book, holds_for
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.shapes.sizes import is_broadcasting
from derivlint.schema import NativeFunction
from derivlint.source.lazy import cached_property

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
        doubts: at how many points of all kinds it is not.
        compared: the kinds of points at which its value is known.
        witnesses: where it is wrong.
        infinite: where it is not finite though the operator has a derivative.
    """

    formula: TypedFormula
    names: tuple[str, ...]
    evaluate: Evaluator
    known: int = 0
    unknown: int = 0
    doubts: int = 0
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


class Point(Struct, frozen=True, dict=True):
    """An operator at a point, with the outputs whose gradients are used."""

    truth: Truth
    signature: EvaluationSignature
    arguments: Values
    outputs: Values
    number: int
    used: frozenset[str] = frozenset()
    slopes: dict[tuple[str, Value, bool], dict[str, Value]] = field(default_factory=dict)

    @cached_property
    def gradients(self) -> Values:
        """Gradients of the outputs whose gradients are used.

        Raises:
            UnknownValueError: one of these is not known.
        """
        return self.directions(self.number, is_backward=True)

    @cached_property
    def tangents(self) -> Values:
        """Tangents of the given arguments."""
        return self.directions(self.number, is_backward=False)

    def directions(self, number: int, *, is_backward: bool) -> Values:
        """The gradients or tangents that a point of some number has."""
        if is_backward:
            values, names = self.outputs, [name for name in self.signature.differentiable if name in self.used]
            if not all(name in values for name in names):
                raise UnknownValueError
        else:
            values = self.arguments
            names = [name for name in self.signature.inputs if values.get(name) is not None]
        return {
            name: direction(number, position, is_complex=type(values[name]) is complex)
            for position, name in enumerate(names)
        }

    def along(self, formula: TypedFormula) -> Values:
        """The gradients or tangents for a formula."""
        return self.gradients if formula.is_backward else self.tangents

    @cached_property
    def _with_gradients(self) -> Values:
        return self.signature.backward(self.arguments, self.outputs, self.gradients)

    def variables(self, formula: TypedFormula, directions: Values) -> Values:
        """The variables of a formula."""
        if not formula.is_backward:
            return self.signature.forward(self.arguments, self.outputs, directions)
        if directions is self.gradients:
            return self._with_gradients
        return self.signature.backward(self.arguments, self.outputs, directions)

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
        real = sum([(conj(value) * slope[output]).real for output, value in gradients.items()])
        if type(self.arguments[name]) is not complex:
            return real
        slope = self.slope(name, 1j, certain)
        return complex(real, sum([(conj(value) * slope[output]).real for output, value in gradients.items()]))

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
    analyses: FormulaAnalyses, formulas: Iterable[TypedFormula], differentiability: Differentiability, truth: Truth
) -> Sequence[Trial]:
    """Formulas of a dispatch key, compared with the operator's own value where both are known."""
    function = differentiability.function
    signature = signature_of(differentiability)
    trials = trials_of(formulas)
    if not signature.inputs or not trials:
        return ()
    used = signature.used(trial.formula for trial in trials)
    arguments_of = point_arguments(differentiability)
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
            if not all(map(is_finite, outputs)):
                continue
            named = dict(zip(signature.outputs, outputs, strict=False))
            point = Point(truth, signature, arguments, named, number, used)
            for trial in active:
                known = trial.known
                _judge(trial, point)
                if trial.known > known:
                    trial.compared.add(kind)
    return trials


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


def _judge(trial: Trial, point: Point) -> None:
    trial.doubts += 1
    try:
        found = _wrong(trial, point)
    except NotFiniteError:
        trial.unknown += 1
        at = _not_finite_at(trial, point)
        if at is not None:
            trial.infinite.append(NotFinite(trial.formula, at))
        return
    except UnknownValueError:
        trial.unknown += 1
        return
    trial.unknown = 0
    trial.doubts -= 1
    trial.known += 1
    if found is not None:
        trial.witnesses = [*(trial.witnesses or ()), found]


def _not_finite_at(trial: Trial, point: Point) -> tuple[tuple[str, Value], ...] | None:
    """Where a formula is not finite; None where the operator has no derivative there, either."""
    # the same at all points
    directions = point.directions(0, is_backward=trial.formula.is_backward)
    judged = point.signature.inputs if trial.formula.is_backward else point.signature.differentiable
    right_value = point.gradient if trial.formula.is_backward else point.tangent
    try:
        for name in trial.names:
            if name in judged:
                right_value(name, directions, certain=True)
    except UnknownValueError:
        return None
    return shown(trial.formula, point, directions)


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


def _wrong(trial: Trial, point: Point) -> Disagreement | None:
    """What is wrong with a formula, in one direction if that is enough."""
    formula, joined = trial.formula, point.signature.joined
    if not formula.is_backward and not any(name.endswith(TANGENT) or name in joined for name in formula.variables):
        # that it has no tangent says another rule
        raise UnknownValueError
    directions = point.along(formula)
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
    right_value = point.gradient if is_backward else point.tangent
    known, judged = (point.arguments, signature.inputs) if is_backward else (point.outputs, signature.differentiable)
    environment = point.variables(trial.formula, directions)
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
        opposite = point.variables(trial.formula, _times(directions, -2))
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
