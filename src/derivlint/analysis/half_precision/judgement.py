"""What formulas lose in half precision, and at which inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct

from derivlint.analysis.dependence.linearity import is_for_tests
from derivlint.analysis.dispatch import valid_bodies
from derivlint.analysis.formula_analyses import analyses_of
from derivlint.analysis.half_precision.evaluate import compile_in_half
from derivlint.analysis.half_precision.values import Half, Loss, LossCause, half, is_lost
from derivlint.analysis.scalar_evaluation.compare import Point, Trial, shown, trials_of
from derivlint.analysis.scalar_evaluation.domain import BACKWARD
from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.points import NumberKind, PointArguments
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, Values, signature_of
from derivlint.analysis.scalar_evaluation.truth import Truth, truth_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value
from derivlint.analysis.typed import TypedFormula
from derivlint.model import DispatchBody, Entry, Model
from derivlint.operators.reference.evaluators import Evaluator
from derivlint.operators.shapes.sizes import is_broadcasting

#: Numbers to try, the most ordinary first, with both signs.
NUMBERS = (
    *(0.5, 2.0, 4.0, 8.0, 0.1, 10.0, 0.9, 0.95, 0.99, 1.01, 1.05, 0.01, 16.0, 32.0, 64.0, 300.0, 1000.0, 10000.0),
    *(60000.0, 0.995, 0.998, 0.999, 1.001, 1.002, 1.005, 1e-3, 1e-4, 1e-5),
)
#: What each of them is tried with, where there are several arguments.
FEW = (0.5, 4.0, 0.002, 300.0, 10000.0)

#: At how many points a mask is looked for.
SEVERAL = 24


class Lost(Struct, frozen=True):
    """A formula that half precision is too little for.

    Attributes:
        formula: the formula.
        name: the argument whose gradient, or the output whose tangent is lost.
        at: arguments, and the gradients or the tangents, for which it is.
        expected: the derivative; the gradient that is left out, where a mask is multiplied.
        found: what the formula gives.
        loss: where it is lost.
    """

    formula: TypedFormula
    name: str
    at: tuple[tuple[str, Value], ...]
    expected: float
    found: float
    loss: Loss


def losses_of(model: Model, entry: Entry) -> tuple[Lost, ...]:
    """What the formulas of an entry lose in half precision: of each formula, one loss of each cause."""
    return model.ask(_losses, model, entry)


def _losses(model: Model, entry: Entry) -> tuple[Lost, ...]:
    if entry.function is None or is_for_tests(entry):
        return ()
    found = judgement_of(model, entry)
    wrong = {item.formula for item in (*found.wrong, *found.contradictions)}
    return tuple(
        item for body in valid_bodies(model, entry) for item in _of_body(model, body) if item.formula not in wrong
    )


def _of_body(model: Model, body: DispatchBody) -> Iterator[Lost]:
    differentiability = model.canonical_differentiability(body)
    if differentiability is None:
        return
    function = differentiability.function
    base = function.name.base
    truth = truth_of(function)
    signature = signature_of(differentiability)
    if truth is None or signature.lists or signature.joined or not is_broadcasting(base):
        return
    plain = PointArguments(function, signature.inputs).at(NumberKind.REAL, 0)
    tensors = tuple(name for name in signature.inputs if type(plain.get(name)) is float)
    trials = trials_of(analyses_of(model).formulas_of(body))
    used = signature.used(trial.formula for trial in trials)
    points = list(_points(truth, signature, plain, tensors))
    for trial in trials:
        in_half = compile_in_half(trial.formula)
        if in_half is None:
            continue
        if BACKWARD not in base:
            # not all numbers can be outputs, which the arguments of a derivative are
            yield from _first_of_each_cause(trial, in_half, points, used, tensors)
        yield from _multiplied_mask(trial, in_half, points[:SEVERAL], used, tensors)


def _points(truth: Truth, signature: EvaluationSignature, plain: Values, tensors: tuple[str, ...]) -> Iterator[Point]:
    """The operator at numbers of half precision, as far as that has its outputs as well."""
    for values in _choices(len(tensors)):
        arguments = {**plain, **dict(zip(tensors, map(half, values), strict=True))}
        try:
            outputs = truth.outputs(arguments)
        except UnknownValueError:
            continue
        if all(math.isfinite(half(each)) for each in outputs if type(each) is float):
            yield Point(truth, signature, arguments, dict(zip(signature.outputs, outputs, strict=False)), 0)


def _choices(count: int) -> Iterator[tuple[float, ...]]:
    for number in NUMBERS:
        for value in (number, -number):
            if count == 1:
                yield (value,)
            elif count == 2:
                yield from product((value,), FEW)
                yield (value, number)
            elif count:
                for position, other in product(range(count), FEW):
                    yield tuple(value if each == position else other for each in range(count))


def _first_of_each_cause(
    trial: Trial, in_half: Evaluator, points: Sequence[Point], used: frozenset[str], tensors: tuple[str, ...]
) -> Iterator[Lost]:
    found: set[LossCause] = set()
    for point in points:
        for directions in _directions(trial, point, used, tensors):
            for item in _lost(trial, in_half, point, directions, tensors):
                if item.loss.cause not in found:
                    found.add(item.loss.cause)
                    yield item


def _directions(
    trial: Trial, point: Point, used: frozenset[str], tensors: tuple[str, ...]
) -> Iterator[dict[str, float]]:
    """Gradients of one, or one tangent of one at a time."""
    if trial.formula.is_backward:
        yield {name: 1.0 for name in point.signature.differentiable if name in used}
        return
    for moved in tensors:
        yield {name: float(name == moved) for name in tensors}


def _lost(
    trial: Trial, in_half: Evaluator, point: Point, directions: Values, tensors: tuple[str, ...]
) -> Iterator[Lost]:
    """The gradients or tangents that are lost at a point."""
    found = _given(trial, in_half, *_in_half(point, directions, tensors), point.signature)
    exact = _given(trial, trial.evaluate, point.arguments, point.outputs, directions, point.signature)
    for name, value, right in zip(trial.names, found, exact, strict=False):
        if type(value) is not Half or value.loss is None or value.loss.node is None or not is_lost(value):
            continue
        # where numbers are compared, another branch may be taken
        if type(right) is not float or not math.isclose(value.exact, right, rel_tol=1e-6):
            continue
        if math.isnan(value) and 0.0 in directions.values():
            # PyTorch leaves out the terms of tangents that are zero
            continue
        yield Lost(trial.formula, name, shown(trial.formula, point, directions), right, float(value), value.loss)


def _multiplied_mask(
    trial: Trial, in_half: Evaluator, points: Sequence[Point], used: frozenset[str], tensors: tuple[str, ...]
) -> Iterator[Lost]:
    """The first gradient or tangent that is infinite where a mask leaves it out by a product."""
    for point in points:
        for ones in _directions(trial, point, used, tensors):
            directions = {name: math.inf if value else value for name, value in ones.items()}
            found = _given(trial, in_half, *_in_half(point, directions, tensors), point.signature)
            for name, value in zip(trial.names, found, strict=False):
                loss = value.loss if type(value) is Half else None
                if loss is not None and loss.cause is LossCause.MASK and loss.node is not None:
                    yield Lost(trial.formula, name, shown(trial.formula, point, directions), 0.0, math.nan, loss)
                    return


def _given(
    trial: Trial,
    evaluate: Evaluator,
    arguments: Values,
    outputs: Values,
    directions: Values,
    signature: EvaluationSignature,
) -> tuple[Value, ...]:
    """What a formula gives; nothing where that is not known."""
    variables_with = signature.backward if trial.formula.is_backward else signature.forward
    try:
        found = evaluate(variables_with(arguments, outputs, directions))
    except UnknownValueError:
        return ()
    return found if isinstance(found, tuple) else (found,)


def _in_half(
    point: Point, directions: Mapping[str, float], tensors: tuple[str, ...]
) -> tuple[dict[str, Value], dict[str, Value], dict[str, Value]]:
    """Arguments, outputs and directions as numbers of half precision."""
    arguments = {name: Half.of(value) if name in tensors else value for name, value in point.arguments.items()}
    outputs = {
        name: Half.of(value, outputs=frozenset((name,))) if type(value) is float else value
        for name, value in point.outputs.items()
    }
    return arguments, outputs, {name: Half.of(value) for name, value in directions.items()}
