"""A formula is infinite or NaN at every ordinary input.

## What it detects
A backward or forward formula whose value is infinite or NaN for one-element tensors at all inputs tried, although the
operator itself has a finite derivative: for example a division by a difference that is always zero.

## Why it is bad
Every gradient becomes infinite or NaN, and after one step so does every parameter.

## Example
    - name: sinh(Tensor self) -> Tensor
      self: grad * self.cosh().conj() / 0

## Instead
    - name: sinh(Tensor self) -> Tensor
      self: grad * self.cosh().conj()

## What it cannot see
Formulas that are infinite at some inputs only; operators and helpers whose values are not known, or that combine
several elements.

## Sources
IEEE 754, section 7.3: a finite number divided by zero is infinite.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_NUMBERS
from derivlint.lint.judging import judges
from derivlint.lint.shared.value_wording import quantity, values
from derivlint.lint.wording import quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="gradients", yields_to=WRONG_NUMBERS, reads=AnalysisDepth.VALUES)

VALID = (
    # infinite at zero, where the operator has no derivative
    """\
- name: sqrt(Tensor self) -> Tensor
  self: grad / (2 * result.conj())
""",
    # an unknown function
    """\
- name: sinh(Tensor self) -> Tensor
  self: mine(grad) / 0
""",
)

INVALID = (
    Invalid(
        at="2:9-38",
        message='the gradient of "self" is not finite at any tested input, such as self = 0.571, grad = 1.34',
        help="write the operator's derivative, which is finite there: nothing may divide by zero or overflow",
    ),
    Invalid(
        """\
- name: hypot(Tensor self, Tensor other) -> Tensor
  self: grad * self / result
  other: grad * other / result
  result: (self_t * self_p + other_t * other_p) / (2 * result - result - result)
""",
        at="4:11-81",
        message=(
            'the tangent of "result" is not finite at any tested input, such as self = 0.571, other = 0.483, '
            "self_t = 1.34, other_t = -1.15"
        ),
        help="write the operator's derivative, which is finite there: nothing may divide by zero or overflow",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the formulas that are finite nowhere."""
    for wrong in judgement_of(model, entry).infinite:
        formula = wrong.formula
        names = quoted_list([name.text for name in formula.written.names])
        yield Finding(
            formula.span_of(formula.tree),
            f"the {quantity(formula)} of {names} is not finite at any tested input, such as {values(wrong.at)}",
            help="write the operator's derivative, which is finite there: nothing may divide by zero or overflow",
            at=formula.written,
        )
