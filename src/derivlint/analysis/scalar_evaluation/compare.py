"""Comparison of formulas with derivatives of the operator on one-element tensors.

PyTorch's convention for complex numbers: the gradient of a real loss by z = x + iy is that by x plus i times that by y.
With the gradient g of the output w, it is Re(conj(g) dw/dx) + i Re(conj(g) dw/dy).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.formula_compiler import called_names
from derivlint.analysis.scalar_evaluation.bounds import around_bounds, bounds_in
from derivlint.analysis.scalar_evaluation.evaluate import compile_formula
from derivlint.analysis.scalar_evaluation.functions.structure import PLAIN
from derivlint.analysis.scalar_evaluation.points import POINTS, RANGES, NumberKind, point_arguments, seed_value
from derivlint.analysis.scalar_evaluation.reference import FOREACH, ReferenceOperator
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, Values, components, signature_of
from derivlint.analysis.scalar_evaluation.values import NotFiniteError, UnknownValueError, Value, conj, is_finite
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability, Model
from derivlint.model.generated.forward import TANGENT
from derivlint.model.generated.gradients import GRAD, GRADS, NAMED_PREFIX
from derivlint.operators import Book, holds_for
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.shapes.sizes import is_broadcasting
from derivlint.schema import NativeFunction
from derivlint.source.lazy import cached_property

#: The minimum relative difference of different numbers.
DIFFERENT = 1e-3
#: The number of points at which a formula must be wrong to be reported.
WITNESSES = 1
#: The number of points of each kind at which a formula is compared.
ENOUGH = {NumberKind.REAL: 6, NumberKind.COMPLEX: 2, NumberKind.MIXED: 4}
#: The number of points at which a formula must be infinite to count as finite nowhere.
NEVER = 3
#: The number of points for operators that only move elements,
ENOUGH_OF_IDENTITY = 2
#: and for operators that are not elementwise, which are also compared on small tensors.
ENOUGH_OF_SEVERAL = 3
#: The number of consecutive points without a known value after which a formula is abandoned.
PATIENCE = 4
DTYPE = "dtype"
#: Operators that accept real and complex tensors together.
PROMOTING = Book.by_hand("promotes-types")


class Disagreement(Struct, frozen=True):
    """A formula that is wrong for one-element tensors.

    Attributes:
        formula: the formula.
        name: the argument whose gradient, or the output whose tangent is wrong.
        at: arguments and the gradient or the tangent.
        expected: the correct value.
        actual: the value of the formula.
        contradicted: the contradicted formula, or None for the operator itself.
        is_undefined: whether the value is an undefined tensor, which counts as zero.
    """

    formula: TypedFormula
    name: str
    at: tuple[tuple[str, Value], ...]
    expected: Value
    actual: Value
    contradicted: TypedFormula | None = None
    is_undefined: bool = False


class NotFinite(Struct, frozen=True):
    """A formula whose value is infinite or NaN.

    Attributes:
        formula: the formula.
        at: arguments and the gradients or the tangents.
    """

    formula: TypedFormula
    at: tuple[tuple[str, Value], ...]


def differ(expected: Value, actual: Value) -> bool:
    """Whether two numbers clearly differ."""
    try:
        return bool(abs(expected - actual) > DIFFERENT * max(abs(expected), abs(actual), 1e-3))
    except OverflowError:
        # the absolute value of a finite complex number may overflow
        return False


class FormulaCheck(Struct):
    """The state of a formula's comparison.

    Attributes:
        formula: the formula.
        names: the arguments or outputs of its key.
        evaluate: the formula as a function.
        known_points: the number of points of the current kind at which its value is known.
        unknown_points: the number of consecutive points at which it is unknown.
        doubts: the number of points of all kinds at which it is unknown.
        compared: the number of points at which its value is known, by kind.
        witnesses: the points at which it is wrong.
        infinite: the points at which it is not finite although the operator has a derivative.
    """

    formula: TypedFormula
    names: tuple[str, ...]
    evaluate: Evaluator
    known_points: int = 0
    unknown_points: int = 0
    doubts: int = 0
    compared: Counter[NumberKind] = field(default_factory=Counter)
    witnesses: list[Disagreement] | None = None
    infinite: list[NotFinite] = field(default_factory=list)

    def is_done(self, enough: int) -> bool:
        """Whether further points of a kind would not change the result."""
        return self.known_points >= enough or self.unknown_points >= PATIENCE or len(self.witnesses or ()) >= WITNESSES


def formula_checks(formulas: Iterable[TypedFormula], *, with_automatic: bool = False) -> list[FormulaCheck]:
    """The formulas that can be compared, by default without automatic ones."""
    checks = []
    for formula in formulas:
        evaluate = compile_formula(formula) if with_automatic or formula.written.auto is None else None
        if evaluate is not None:
            checks.append(FormulaCheck(formula, tuple(name.text for name in formula.written.names), evaluate))
    return checks


class Point(Struct, frozen=True, dict=True):
    """An operator at a point, with the outputs whose gradients formulas use."""

    reference: ReferenceOperator
    signature: EvaluationSignature
    arguments: Values
    outputs: Values
    number: int
    used: frozenset[str] = frozenset()
    slopes: dict[tuple[str, Value, bool], dict[str, Value]] = field(default_factory=dict)

    @cached_property
    def gradients(self) -> Values:
        """The gradients of the outputs whose gradients are used.

        Raises:
            UnknownValueError: one of them is unknown.
        """
        return self.seeds(self.number, is_backward=True)

    @cached_property
    def tangents(self) -> Values:
        """The tangents of these arguments."""
        return self.seeds(self.number, is_backward=False)

    def seeds(self, number: int, *, is_backward: bool) -> Values:
        """The gradients or tangents with a number."""
        if is_backward:
            values, names = self.outputs, [name for name in self.signature.differentiable if name in self.used]
            if not all(name in values for name in names):
                raise UnknownValueError
        else:
            values = self.arguments
            names = [name for name in self.signature.inputs if values.get(name) is not None]
        return {
            name: seed_value(number, position, is_complex=type(values[name]) is complex)
            for position, name in enumerate(names)
        }

    def seeds_for(self, formula: TypedFormula) -> Values:
        """The gradients or tangents for a formula."""
        return self.gradients if formula.is_backward else self.tangents

    @cached_property
    def _with_gradients(self) -> Values:
        return self.signature.backward(self.arguments, self.outputs, self.gradients)

    def variables(self, formula: TypedFormula, seeds: Values) -> Values:
        """The variables of a formula."""
        if not formula.is_backward:
            return self.signature.forward(self.arguments, self.outputs, seeds)
        if seeds is self.gradients:
            return self._with_gradients
        return self.signature.backward(self.arguments, self.outputs, seeds)

    def slope(self, name: str, direction: Value, certain: bool) -> dict[str, Value]:
        """The derivatives of the outputs by one argument, along a direction."""
        key = (name, direction, certain)
        derivatives = self.slopes.get(key)
        if derivatives is None:
            slopes = self.reference.slopes(self.arguments, name, direction, certain=certain)
            derivatives = self.slopes[key] = dict(zip(self.signature.outputs, slopes, strict=False))
        return derivatives

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


def point_at(
    reference: ReferenceOperator, signature: EvaluationSignature, arguments: Values, number: int, used: frozenset[str]
) -> Point | None:
    """The point with some arguments, or None if the operator has no finite value there."""
    try:
        outputs = reference.outputs(arguments)
    except UnknownValueError:
        return None
    if not all(map(is_finite, outputs)):
        return None
    return Point(reference, signature, arguments, dict(zip(signature.outputs, outputs, strict=False)), number, used)


def wrong_formulas(checks: Iterable[FormulaCheck]) -> Iterator[Disagreement]:
    """The formulas of a dispatch key that contradict the operator, each once."""
    for check in checks:
        if check.witnesses is not None and len(check.witnesses) >= WITNESSES:
            yield check.witnesses[0]


def finite_nowhere(function: NativeFunction, checks: Iterable[FormulaCheck]) -> Iterator[NotFinite]:
    """The formulas that are not finite at any point, each once.

    An operator of several elements may be finite for larger tensors.
    """
    if not is_broadcasting(function.name.base.removeprefix(FOREACH)):
        return
    for check in checks:
        if check.compared or len(check.infinite) < NEVER or check.formula.written.auto is not None:
            continue
        if all(map(is_broadcasting, called_names(check.formula))):
            yield check.infinite[0]


def compared(
    analyses: FormulaAnalyses,
    formulas: Iterable[TypedFormula],
    differentiability: Differentiability,
    reference: ReferenceOperator,
) -> Sequence[FormulaCheck]:
    """Compare the formulas of a dispatch key with the operator, at all points at which both are known."""
    function = differentiability.function
    signature = signature_of(differentiability)
    checks = formula_checks(formulas, with_automatic=True)
    if not signature.inputs or not checks:
        return ()
    used = signature.used(check.formula for check in checks)
    arguments_of = point_arguments(differentiability)
    most = len(RANGES)
    if function.name.base in PLAIN:
        most = ENOUGH_OF_IDENTITY
    elif not is_broadcasting(function.name.base.removeprefix(FOREACH)):
        most = ENOUGH_OF_SEVERAL
    for kind in kinds_of(analyses.model, function):
        enough = min(ENOUGH[kind], most)
        for check in checks:
            check.known_points = check.unknown_points = 0
        for number in range(POINTS):
            active = [check for check in checks if not check.is_done(enough)]
            if not active:
                break
            point = point_at(reference, signature, arguments_of.at(kind, number), number, used)
            if point is None:
                continue
            for check in active:
                n_known = check.known_points
                _judge(check, point)
                if check.known_points > n_known:
                    check.compared[kind] += 1
    if is_broadcasting(function.name.base.removeprefix(FOREACH)):
        plain = arguments_of.at(NumberKind.REAL, 0)
        for check in checks:
            if check.compared and not check.witnesses:
                _compare_at_bounds(check, plain, reference, signature, used)
    return checks


def _compare_at_bounds(
    check: FormulaCheck,
    plain: Values,
    reference: ReferenceOperator,
    signature: EvaluationSignature,
    used: frozenset[str],
) -> None:
    """Compare a formula that is right so far on both sides of the numbers in its comparisons, and at them."""
    for arguments, is_at_bound in around_bounds(bounds_in(check.formula.tree), plain, signature):
        point = point_at(reference, signature, arguments, 0, used)
        if point is None:
            continue
        try:
            if is_at_bound and not all(reference.is_smooth(arguments, name) for name in signature.inputs):
                # a convention
                continue
            disagreement = _wrong(check, point)
        except UnknownValueError:
            continue
        if disagreement is not None:
            check.witnesses = [disagreement]
            return


def kinds_of(model: Model, function: NativeFunction) -> tuple[NumberKind, ...]:
    """The kinds of numbers for which a function is differentiated."""
    book = model.book
    if not book.has_complex_gradients(function) and (
        not book.takes_complex(function)
        or any(argument.name == DTYPE for argument in function.schema.arguments.flat_non_out)
    ):
        # operators with a dtype for a real result reject complex numbers
        return (NumberKind.REAL,)
    if not holds_for(model.natives):
        return (NumberKind.REAL,)
    if function.name.base in PROMOTING:
        return (NumberKind.REAL, NumberKind.COMPLEX, NumberKind.MIXED)
    return (NumberKind.REAL, NumberKind.COMPLEX)


def _judge(check: FormulaCheck, point: Point) -> None:
    check.doubts += 1
    try:
        disagreement = _wrong(check, point)
    except NotFiniteError:
        check.unknown_points += 1
        at = _not_finite_at(check, point)
        if at is not None:
            check.infinite.append(NotFinite(check.formula, at))
        return
    except UnknownValueError:
        check.unknown_points += 1
        return
    check.unknown_points = 0
    check.doubts -= 1
    check.known_points += 1
    if disagreement is not None:
        check.witnesses = [*(check.witnesses or ()), disagreement]


def _not_finite_at(check: FormulaCheck, point: Point) -> tuple[tuple[str, Value], ...] | None:
    """The arguments and seeds at which a formula is not finite, or None if the operator has no derivative there."""
    # the same seeds at all points
    seeds = point.seeds(0, is_backward=check.formula.is_backward)
    judged = point.signature.inputs if check.formula.is_backward else point.signature.differentiable
    right_value = point.gradient if check.formula.is_backward else point.tangent
    try:
        for name in check.names:
            if name in judged:
                right_value(name, seeds, certain=True)
    except UnknownValueError:
        return None
    return shown(check.formula, point, seeds)


def linear_value(check: FormulaCheck, environment: Values, opposite: Values) -> tuple[Value, ...]:
    """The value of a formula, which must be linear: with minus two times the seeds, it is minus two times as large.

    Raises:
        UnknownValueError: it is unknown, or not linear, which is reported elsewhere.
    """
    count = len(check.names)
    values = components(check.evaluate, environment, count)
    for value, doubled in zip(values, components(check.evaluate, opposite, count), strict=True):
        if value is not None and doubled is not None and differ(-2 * value, doubled):
            raise UnknownValueError
    return values


def _wrong(check: FormulaCheck, point: Point) -> Disagreement | None:
    """The disagreement of a formula with its operator, with a single seed if possible."""
    formula, joined = check.formula, point.signature.joined
    if not formula.is_backward and not any(name.endswith(TANGENT) or name in joined for name in formula.variables):
        # another rule reports the missing tangent
        raise UnknownValueError
    seeds = point.seeds_for(formula)
    disagreement = _differs(check, point, seeds)
    if disagreement is None:
        return None
    for name in seeds:
        # a single seed of 1 is easier to read
        simpler = _differs(check, point, {key: type(seed)(key == name) for key, seed in seeds.items()})
        if simpler is not None:
            return simpler
    return disagreement


def _differs(check: FormulaCheck, point: Point, seeds: Values) -> Disagreement | None:
    """The first gradient or tangent that differs from the operator's."""
    signature = point.signature
    is_backward = check.formula.is_backward
    right_value = point.gradient if is_backward else point.tangent
    available, judged = (
        (point.arguments, signature.inputs) if is_backward else (point.outputs, signature.differentiable)
    )
    values = components(check.evaluate, point.variables(check.formula, seeds), len(check.names))
    for name, value in zip(check.names, values, strict=True):
        # an undefined gradient or tangent counts as zero
        number = 0.0 if value is None else value
        if name not in available or name not in judged or not differ(right_value(name, seeds, certain=False), number):
            continue
        expected = right_value(name, seeds, certain=True)
        if differ(expected, number):
            at = shown(check.formula, point, seeds)
            return Disagreement(check.formula, name, at, expected, number, is_undefined=value is None)
    return None


def shown(formula: TypedFormula, point: Point, seeds: Values) -> tuple[tuple[str, Value], ...]:
    """The values to show in a message: differentiable arguments, numbers, seeds."""
    mentioned = formula.variables
    shown = [
        (name, value)
        for name, value in point.arguments.items()
        if name in point.signature.inputs or (name in mentioned and _is_plain(value))
    ]
    for name, value in seeds.items():
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
