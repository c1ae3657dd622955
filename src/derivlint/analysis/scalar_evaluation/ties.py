"""Derivatives at equal arguments of operators that select one of their arguments.

The derivative at a tie is a convention: any is right if the shares of all arguments add up to the derivative along the
diagonal, on which all arguments vary together. Where an argument is NaN, the output is the other one, which has the
whole share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec import Struct

from derivlint.analysis.formula_analyses import FormulaAnalyses
from derivlint.analysis.scalar_evaluation.compare import FormulaCheck, differ, formula_checks, linear_value
from derivlint.analysis.scalar_evaluation.points import NumberKind, arguments_at
from derivlint.analysis.scalar_evaluation.signature import EvaluationSignature, signature_of
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value
from derivlint.analysis.typed import TypedFormula
from derivlint.model import Differentiability, DispatchBody
from derivlint.operators import Book

#: Operators that return one of their arguments.
CHOOSING = Book.by_hand("chooses")
#: Operators that return the other argument if one is NaN.
IGNORING_NAN = Book.by_hand("ignores-nan")
#: The value of the equal arguments: any that is not special to an operator.
TIE = 0.837


class WrongShares(Struct, frozen=True):
    """Formulas whose shares do not add up to 1.

    Attributes:
        formulas: the backward formulas, or the forward formula.
        names: the arguments that share the derivative.
        nan: the argument that is NaN, if any.
        total: the sum of the shares, which should be 1.
    """

    formulas: tuple[TypedFormula, ...]
    names: tuple[str, ...]
    nan: str | None
    total: Value


def wrong_shares(
    analyses: FormulaAnalyses, body: DispatchBody, differentiability: Differentiability
) -> Iterator[WrongShares]:
    """The formulas whose shares do not add up to 1, backward and forward ones separately."""
    base = differentiability.function.name.base
    if base not in CHOOSING or not differentiability.function.is_of_pytorch:
        return
    signature = signature_of(differentiability)
    differentiable = differentiability.inputs
    if len(signature.inputs) < 2 or len(signature.inputs) != len(differentiable):
        return
    checks = formula_checks(sorted(analyses.formulas_of(body), key=lambda formula: formula.written.index))
    backward = [check for check in checks if check.formula.is_backward]
    forward = [check for check in checks if not check.formula.is_backward]
    plain = arguments_at(differentiability.function, signature.inputs, NumberKind.REAL, 0)
    nans = [None, *(reversed(signature.inputs) if base in IGNORING_NAN else ())]
    for nan in nans:
        arguments = {**plain, **dict.fromkeys(signature.inputs, TIE), **({nan: math.nan} if nan is not None else {})}
        outputs = dict.fromkeys(signature.outputs, TIE)
        numbers = tuple(name for name in signature.inputs if name != nan)
        for group, shares_of in ((backward, _backward_shares), (forward, _forward_shares)):
            try:
                shares = shares_of(group, signature, arguments, outputs)
            except UnknownValueError:
                continue
            for names in (signature.inputs, numbers):
                total = sum(shares[name] for name in names)
                if differ(1.0, total):
                    yield WrongShares(tuple(check.formula for check in group), names, nan, total)
                    return


def _backward_shares(
    checks: list[FormulaCheck], signature: EvaluationSignature, arguments: dict[str, Value], outputs: dict[str, Value]
) -> dict[str, Value]:
    environment, opposite = (
        signature.backward(arguments, outputs, dict.fromkeys(signature.differentiable, factor))
        for factor in (1.0, -2.0)
    )
    shares = dict(
        pair for check in checks for pair in zip(check.names, linear_value(check, environment, opposite), strict=False)
    )
    if shares.keys() != set(signature.inputs) or None in shares.values():
        raise UnknownValueError
    return shares


def _forward_shares(
    checks: list[FormulaCheck], signature: EvaluationSignature, arguments: dict[str, Value], outputs: dict[str, Value]
) -> dict[str, Value]:
    if len(checks) != 1:
        raise UnknownValueError
    constant = dict.fromkeys(signature.inputs, 0.0)
    shares = {}
    for name in signature.inputs:
        environment, opposite = (
            signature.forward(arguments, outputs, {**constant, name: factor}) for factor in (1.0, -2.0)
        )
        shares[name] = linear_value(checks[0], environment, opposite)[0]
    if None in shares.values():
        raise UnknownValueError
    return shares
