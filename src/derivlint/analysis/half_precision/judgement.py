"""Formulas that lose their value in half precision, with the inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct

from derivlint.analysis.dispatch import judged_bodies
from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.half_precision.evaluate import compile_in_half
from derivlint.analysis.half_precision.values import Half, Loss, LossCause, half, is_lost
from derivlint.analysis.scalar_evaluation.compare import FormulaCheck, Point, formula_checks, shown
from derivlint.analysis.scalar_evaluation.domain import BACKWARD
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.points import NumberKind, PointArguments
from derivlint.analysis.scalar_evaluation.reference import ReferenceOperator, reference_of
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, Values, signature_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability, DispatchBody, Entry, Model
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.shapes.sizes import is_broadcasting

#: The magnitudes of inputs to try, most ordinary first; both signs are tried. 65504 is the largest half-precision
#: number.
NUMBERS = (
    *(0.5, 2.0, 4.0, 8.0, 0.1, 10.0, 0.9, 0.95, 0.99, 1.01, 1.05, 0.01, 16.0, 32.0, 64.0, 300.0, 1000.0, 10000.0),
    *(60000.0, 0.995, 0.998, 0.999, 1.001, 1.002, 1.005, 1e-3, 1e-4, 1e-5),
)
#: The values to try for further arguments.
FEW = (0.5, 4.0, 0.002, 300.0, 10000.0)

#: The number of points at which masks are checked.
SEVERAL = 24


class Lost(Struct, frozen=True):
    """A formula that loses its value in half precision.

    Attributes:
        formula: the formula.
        name: the argument whose gradient, or the output whose tangent is lost.
        at: arguments, and the gradients or tangents.
        expected: the exact value; for a multiplied mask, the masked gradient.
        actual: the value of the formula.
        loss: the responsible operation.
    """

    formula: TypedFormula
    name: str
    at: tuple[tuple[str, Value], ...]
    expected: float
    actual: float
    loss: Loss


def losses_of(model: Model, entry: Entry) -> tuple[Lost, ...]:
    """The losses in an entry's formulas, one of each cause for each formula."""
    return model.ask(_losses, model, entry)


def _losses(model: Model, entry: Entry) -> tuple[Lost, ...]:
    judgement = judgement_of(model, entry)
    wrong = {item.formula for item in (*judgement.wrong, *judgement.contradictions)}
    return tuple(
        item
        for body, differentiability in judged_bodies(model, entry)
        for item in _of_body(model, body, differentiability)
        if item.formula not in wrong
    )


def _of_body(model: Model, body: DispatchBody, differentiability: Differentiability) -> Iterator[Lost]:
    function = differentiability.function
    base = function.name.base
    reference = reference_of(function)
    signature = signature_of(differentiability)
    if reference is None or signature.lists or signature.joined or not is_broadcasting(base):
        return
    plain = PointArguments(function, signature.inputs).at(NumberKind.REAL, 0)
    tensors = tuple(name for name in signature.inputs if type(plain.get(name)) is float)
    checks = formula_checks(analyses_of(model).formulas_of(body))
    used = signature.used(check.formula for check in checks)
    points = list(_points(reference, signature, plain, tensors))
    for check in checks:
        in_half = compile_in_half(check.formula)
        if in_half is None:
            continue
        if BACKWARD not in base:
            # arguments of a derivative may be outputs, for which not all numbers are possible
            yield from _first_of_each_cause(check, in_half, points, used, tensors)
        yield from _multiplied_mask(check, in_half, points[:SEVERAL], used, tensors)


def _points(
    reference: ReferenceOperator, signature: EvaluationSignature, plain: Values, tensors: tuple[str, ...]
) -> Iterator[Point]:
    """The points with half-precision inputs for which the outputs are representable too."""
    for values in _choices(len(tensors)):
        arguments = {**plain, **dict(zip(tensors, map(half, values), strict=True))}
        try:
            outputs = reference.outputs(arguments)
        except UnknownValueError:
            continue
        if all(math.isfinite(half(output)) for output in outputs if type(output) is float):
            yield Point(reference, signature, arguments, dict(zip(signature.outputs, outputs, strict=False)), 0)


def _choices(count: int) -> Iterator[tuple[float, ...]]:
    for number in NUMBERS:
        for value in (number, -number):
            if count == 1:
                yield (value,)
            elif count == 2:
                yield from product((value,), FEW)
                yield (value, number)
            elif count:
                for position, filler in product(range(count), FEW):
                    yield tuple(value if index == position else filler for index in range(count))


def _first_of_each_cause(
    check: FormulaCheck, in_half: Evaluator, points: Sequence[Point], used: frozenset[str], tensors: tuple[str, ...]
) -> Iterator[Lost]:
    causes: set[LossCause] = set()
    for point in points:
        for seeds in _seeds(check, point, used, tensors):
            for item in _lost(check, in_half, point, seeds, tensors):
                if item.loss.cause not in causes:
                    causes.add(item.loss.cause)
                    yield item


def _seeds(
    check: FormulaCheck, point: Point, used: frozenset[str], tensors: tuple[str, ...]
) -> Iterator[dict[str, float]]:
    """All gradients one, or one tangent at a time."""
    if check.formula.is_backward:
        yield {name: 1.0 for name in point.signature.differentiable if name in used}
        return
    for moved in tensors:
        yield {name: float(name == moved) for name in tensors}


def _lost(
    check: FormulaCheck, in_half: Evaluator, point: Point, seeds: Values, tensors: tuple[str, ...]
) -> Iterator[Lost]:
    """The lost gradients or tangents at a point."""
    rounded = _components(check, in_half, *_in_half(point, seeds, tensors), point.signature)
    exact = _components(check, check.evaluate, point.arguments, point.outputs, seeds, point.signature)
    for name, value, right in zip(check.names, rounded, exact, strict=False):
        if type(value) is not Half or value.loss is None or value.loss.node is None or not is_lost(value):
            continue
        # rounding may change comparisons and so the branch
        if type(right) is not float or not math.isclose(value.exact, right, rel_tol=1e-6):
            continue
        if math.isnan(value) and 0.0 in seeds.values():
            # PyTorch skips terms of zero tangents
            continue
        yield Lost(check.formula, name, shown(check.formula, point, seeds), right, float(value), value.loss)


def _multiplied_mask(
    check: FormulaCheck, in_half: Evaluator, points: Sequence[Point], used: frozenset[str], tensors: tuple[str, ...]
) -> Iterator[Lost]:
    """The first result that is NaN because a mask multiplies an infinite gradient or tangent by zero."""
    for point in points:
        for ones in _seeds(check, point, used, tensors):
            seeds = {name: math.inf if value else value for name, value in ones.items()}
            rounded = _components(check, in_half, *_in_half(point, seeds, tensors), point.signature)
            for name, value in zip(check.names, rounded, strict=False):
                loss = value.loss if type(value) is Half else None
                if loss is not None and loss.cause is LossCause.MASK and loss.node is not None:
                    yield Lost(check.formula, name, shown(check.formula, point, seeds), 0.0, math.nan, loss)
                    return


def _components(
    check: FormulaCheck,
    evaluate: Evaluator,
    arguments: Values,
    outputs: Values,
    seeds: Values,
    signature: EvaluationSignature,
) -> tuple[Value, ...]:
    """The values of a formula; empty if unknown."""
    variables_with = signature.backward if check.formula.is_backward else signature.forward
    try:
        value = evaluate(variables_with(arguments, outputs, seeds))
    except UnknownValueError:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _in_half(
    point: Point, seeds: Mapping[str, float], tensors: tuple[str, ...]
) -> tuple[dict[str, Value], dict[str, Value], dict[str, Value]]:
    """Arguments, outputs and seeds as half-precision numbers."""
    arguments = {name: Half.of(value) if name in tensors else value for name, value in point.arguments.items()}
    outputs = {
        name: Half.of(value, outputs=frozenset((name,))) if type(value) is float else value
        for name, value in point.outputs.items()
    }
    return arguments, outputs, {name: Half.of(value) for name, value in seeds.items()}
