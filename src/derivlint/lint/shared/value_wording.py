"""Findings about wrong values of formulas, and the formatting of numbers."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator
from typing import Any

from derivlint.analysis.half_precision.judgement import Lost, losses_of
from derivlint.analysis.half_precision.values import LossCause
from derivlint.analysis.scalar_evaluation.compare import Disagreement
from derivlint.analysis.small_tensors.compare import WrongValues, small_tensors_of
from derivlint.analysis.typed import TypedFormula
from derivlint.formula import Call
from derivlint.lint.diagnostic import Finding, Related
from derivlint.lint.shared.shape_wording import given
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

#: Names with their values.
Shown = tuple[tuple[str, Any], ...]


def number(value: complex | None) -> str:
    """Format a number with three digits, ``0.825`` or ``-1.2+0.3i``; a boolean or absent value by its C++ name."""
    if value is None:
        return "nullopt"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, complex):
        return f"{_short(value.real)}{'+' if value.imag >= 0 else '-'}{_short(abs(value.imag))}i"
    return _short(value)


def _short(value: float) -> str:
    return f"{float(value):.3g}".replace("e-0", "e-").replace("e+0", "e")


def computed(value: complex) -> str:
    """Format a computed number, which may be infinite or NaN."""
    return number(value) if cmath.isfinite(value) else "NaN" if cmath.isnan(value) else "infinite"


def values(items: Shown) -> str:
    """Format names with their values, ``self = 0.6, grad = 1``."""
    return ", ".join(f"{name} = {number(value)}" for name, value in items)


def quantity(formula: TypedFormula) -> str:
    """The kind of value of a formula: ``gradient`` or ``tangent``."""
    return "gradient" if formula.is_backward else "tangent"


def scalar_finding(wrong: Disagreement, more: str = "", related: tuple[Related, ...] = ()) -> Finding:
    """Make a finding about a formula that contradicts its operator on one-element tensors.

    Args:
        wrong: the values.
        more: the end of the message.
        related: secondary locations.
    """
    formula = wrong.formula
    return Finding(
        formula.span_of(formula.tree),
        f"the {quantity(formula)} of {quoted(wrong.name)} is {number(wrong.expected)} at {values(wrong.at)}; "
        f"the formula gives {quoted('Tensor()') if wrong.is_undefined else number(wrong.actual)}{more}",
        help="computed with one-element tensors",
        related=related,
        at=formula.written,
    )


def tensor_findings(entry: Entry, model: Model, *, backward: bool) -> Iterator[Finding]:
    """Findings about formulas of one mode that contradict their operator on larger tensors."""
    for wrong in small_tensors_of(model, entry):
        formula = wrong.formula
        if formula.is_backward is backward:
            cure = f"compute it from {quoted(wrong.needed)}" if wrong.needed else None
            yield Finding(
                formula.span_of(formula.tree),
                _tensor_message(wrong),
                help=cure or "computed with small tensors of distinct elements",
                at=formula.written,
            )


def _tensor_message(wrong: WrongValues) -> str:
    arguments = given(wrong.formula, "", wrong.at, wrong.varied)
    if wrong.reason:
        return f"the {quantity(wrong.formula)} of {quoted(wrong.name)} cannot be computed{arguments}: {wrong.reason}"
    element = "".join(f"[{at}]" for at in wrong.where)
    return (
        f"the {quantity(wrong.formula)} of {quoted(wrong.name + element)} is {number(wrong.expected)}"
        f"{arguments}; the formula gives {computed(wrong.actual)}"
    )


def loss_findings(
    entry: Entry, model: Model, cause: LossCause, reason: Callable[[Lost], str], help: str
) -> Iterator[Finding]:
    """Findings about formulas that lose their value in half precision for one cause, at the lossy part.

    Args:
        entry: the entry.
        model: the model of its file.
        cause: the cause.
        reason: returns the end of the message.
        help: the cure.
    """
    for lost in losses_of(model, entry):
        if lost.loss.cause is cause and lost.loss.node is not None:
            yield Finding(
                lost.formula.span_of(lost.loss.node),
                # masks are wrong in any precision
                f"{'' if cause is LossCause.MASK else 'in half precision, '}the {quantity(lost.formula)} of "
                f"{quoted(lost.name)} is {computed(lost.actual)}, not {number(lost.expected)}, at {values(lost.at)}: "
                f"{reason(lost)}",
                help=help,
                at=lost.formula.written,
            )


def part_of(lost: Lost) -> str:
    """The quoted part of a formula that loses its value, or the name of the helper that does."""
    node = lost.loss.node
    assert node is not None, "it is in the formula"
    call = lost.formula.call(node) if lost.loss.is_inside and isinstance(node, Call) else None
    return quoted(lost.formula.source_of(node) if call is None else call.spelling)
