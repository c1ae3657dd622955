"""What operators that choose among their arguments do where these are equal.

There a derivative is a convention, and any will do by which the shares of all arguments add up to the derivative along
the diagonal, where all arguments move together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.scalar_evaluation.compare import Trial, differ, linear_value, trials_of
from derivlint.analysis.scalar_evaluation.points import NumberKind, arguments_at
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, signature_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability, DispatchBody
from derivlint.operators import Book

#: Operators that return one of their arguments.
CHOOSING = Book.by_hand("chooses")
#: Those that return the other argument where one is NaN.
IGNORING_NAN = Book.by_hand("ignores-nan")
TIE = 0.837


class WrongShares(Struct, frozen=True):
    """Formulas whose shares do not add up.

    Attributes:
        formulas: the backward formulas, or the forward formula.
        names: the arguments.
        values: their values.
        total: the sum of the shares, which should be 1.
    """

    formulas: tuple[TypedFormula, ...]
    names: tuple[str, ...]
    values: tuple[Value, ...]
    total: Value


def wrong_shares(
    analyses: FormulaAnalyses, body: DispatchBody, differentiability: Differentiability
) -> Iterator[WrongShares]:
    """The formulas of a dispatch key whose shares do not add up to 1, backward and forward ones by themselves."""
    base = differentiability.function.name.base
    if base not in CHOOSING:
        return
    signature = signature_of(differentiability)
    others = differentiability.inputs
    if len(signature.inputs) < 2 or len(signature.inputs) != len(others):
        return
    trials = trials_of(sorted(analyses.formulas_of(body), key=lambda formula: formula.written.index))
    backward = [trial for trial in trials if trial.formula.is_backward]
    forward = [trial for trial in trials if not trial.formula.is_backward]
    plain = arguments_at(differentiability.function, signature.inputs, NumberKind.REAL, 0)
    for values in _ties(base, len(signature.inputs)):
        arguments = {**plain, **dict(zip(signature.inputs, values, strict=True))}
        outputs = dict.fromkeys(signature.outputs, next(value for value in values if not math.isnan(value)))
        for group, add_up in ((backward, _backward_total), (forward, _forward_total)):
            try:
                total = add_up(group, signature, arguments, outputs)
            except UnknownValueError:
                continue
            if differ(1.0, total):
                yield WrongShares(tuple(trial.formula for trial in group), signature.inputs, values, total)
                return


def _ties(base: str, count: int) -> Iterator[tuple[float, ...]]:
    yield (TIE,) * count
    if base in IGNORING_NAN:
        yield (TIE, math.nan)
        yield (math.nan, TIE)


def _backward_total(
    trials: list[Trial], signature: EvaluationSignature, arguments: dict[str, Value], outputs: dict[str, Value]
) -> Value:
    environment, opposite = (
        signature.backward(arguments, outputs, dict.fromkeys(signature.differentiable, factor))
        for factor in (1.0, -2.0)
    )
    shares = [share for trial in trials for share in linear_value(trial, environment, opposite)]
    if len(shares) != len(signature.inputs) or None in shares:
        raise UnknownValueError
    return sum(shares)


def _forward_total(
    trials: list[Trial], signature: EvaluationSignature, arguments: dict[str, Value], outputs: dict[str, Value]
) -> Value:
    if len(trials) != 1:
        raise UnknownValueError
    environment, opposite = (
        signature.forward(arguments, outputs, dict.fromkeys(signature.inputs, factor)) for factor in (1.0, -2.0)
    )
    return linear_value(trials[0], environment, opposite)[0]
