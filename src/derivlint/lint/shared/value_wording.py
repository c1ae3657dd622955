"""Values of formulas in words."""

from __future__ import annotations

import math
from typing import Any

from derivlint.analysis.half_precision.judgement import Lost
from derivlint.analysis.small_tensors.compare import WrongValues
from derivlint.formula import Call
from derivlint.lint.shared.shape_wording import given
from derivlint.lint.wording import quoted

#: Names with their values.
Shown = tuple[tuple[str, Any], ...]


def number(value: complex | None) -> str:
    """A number with three digits, ``0.825`` or ``-1.2+0.3i``; a boolean or an absent value by its name in C++."""
    if value is None:
        return "nullopt"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, complex):
        return f"{_short(value.real)}{'+' if value.imag >= 0 else '-'}{_short(abs(value.imag))}i"
    return _short(value)


def _short(value: float) -> str:
    return f"{float(value):.3g}".replace("e-0", "e-").replace("e+0", "e")


def values(items: Shown) -> str:
    """Names with their values, ``self = 0.6, grad = 1``."""
    return ", ".join(f"{name} = {number(value)}" for name, value in items)


def differs(what: str, name: str, at: Shown, expected: complex, found: complex) -> str:
    """A gradient or a tangent, where it is taken and what a formula gives."""
    return f"the {what} of {quoted(name)} is {number(expected)} at {values(at)}; the formula gives {number(found)}"


def differs_at(what: str, wrong: WrongValues) -> str:
    """An element of a gradient or a tangent, for which arguments it is wrong, and what a formula gives."""
    arguments = given(wrong.formula, "", wrong.at)
    if wrong.reason:
        return f"the {what} of {quoted(wrong.name)} cannot be computed{arguments}: {wrong.reason}"
    element = "".join(f"[{at}]" for at in wrong.where)
    return (
        f"the {what} of {quoted(wrong.name + element)} is {number(wrong.expected)}"
        f"{arguments}; the formula gives {number(wrong.actual)}"
    )


def lost_in_half(lost: Lost) -> str:
    """A gradient or a tangent in half precision, what it should be, and where."""
    what = "gradient" if lost.formula.is_backward else "tangent"
    found = number(lost.actual) if math.isfinite(lost.actual) else "NaN" if math.isnan(lost.actual) else "infinite"
    return f"the {what} of {quoted(lost.name)} is {found}, not {number(lost.expected)}, at {values(lost.at)}"


def part_of(lost: Lost) -> str:
    """The part of a formula in which something is lost; of a helper its name."""
    node = lost.loss.node
    assert node is not None, "it is in the formula"
    call = lost.formula.call(node) if lost.loss.is_inside and isinstance(node, Call) else None
    return quoted(lost.formula.source_of(node) if call is None else call.spelling)
