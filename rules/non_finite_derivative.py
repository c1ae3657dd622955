"""A formula is infinite or not a number where the operator has a derivative.

## What it detects
A backward or forward formula that is right at ordinary inputs, and that divides by zero or multiplies zero by infinity
where an argument is zero, although the operator is smooth there and has a finite derivative. A formula that is right at
some ordinary inputs and NaN at others, such as negative ones for a square root, is an error.

## Why it is bad
Zeros are common: padding, masks, outputs of relu. One NaN in a gradient makes every parameter NaN after one step.

## Example
    - name: sinc(Tensor self) -> Tensor
      self: grad * ((self * M_PI).cos() / self - result / self).conj()

## Instead
    - name: sinc(Tensor self) -> Tensor
      self: sinc_backward(grad, self)

## What it cannot see
Special places other than zero; operators and helpers whose values are not known, or that take several elements
together.

## Sources
[pytorch/pytorch#56763](https://github.com/pytorch/pytorch/pull/56763): the gradient of ``sinc`` was NaN at 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_NUMBERS
from derivlint.lint.judging import judges
from derivlint.lint.shared.value_wording import number, quantity, values
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.WARNING, group="gradients", yields_to=WRONG_NUMBERS, reads=AnalysisDepth.VALUES)

#: The tolerance for a zero derivative, computed by finite differences.
ROUNDED = 1e-9

VALID = (
    # not differentiable at zero
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self / self.abs()
""",
    # the derivative is infinite too
    """\
- name: sqrt(Tensor self) -> Tensor
  self: grad / (2 * result)
""",
    # the branch that is not finite is not taken
    """\
- name: sinc(Tensor self) -> Tensor
  self: >-
    grad * at::where(self == 0, at::zeros_like(self),
    (M_PI * self * (M_PI * self).cos() - (M_PI * self).sin()) / (M_PI * self * self))
""",
    # not defined for negative numbers
    """\
- name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor
  self: at::xlogy(grad, other).masked_fill((self == 0.) & (other <= 0.), 0.)
  other: grad * self / other
""",
)

INVALID = (
    Invalid(
        at="2:9-67",
        message='the gradient of "self" is NaN at self = 0, grad = 1.34, where the derivative is 0',
        help="handle zero in a branch of its own: at::where(self == 0, ..., ...)",
    ),
    Invalid(
        """\
- name: sinc(Tensor self) -> Tensor
  self: sinc_backward(grad, self)
  result: self_t * ((self_p * M_PI).cos() / self_p - result / self_p)
""",
        at="3:11-70",
        message='the tangent of "result" is NaN at self = 0, self_t = 1.34, where the derivative is 0',
        help="handle zero in a branch of its own: at::where(self == 0, ..., ...)",
    ),
    # for negative numbers
    Invalid(
        """\
- name: hypot(Tensor self, Tensor other) -> Tensor
  self: grad * self.sqrt() * self.sqrt() / result
""",
        at="2:9-50",
        message='the gradient of "self" is NaN at self = -0.519, grad = 1.34, where the derivative is -1.02',
        help="write the operator's derivative, which is finite there: a logarithm or root may need an absolute value",
    ),
)


#: The cures.
AT_ZERO = "handle zero in a branch of its own: at::where(self == 0, ..., ...)"
ELSEWHERE = "write the operator's derivative, which is finite there: a logarithm or root may need an absolute value"


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the formulas that are not finite where the operator has a derivative."""
    for pole in judgement_of(model, entry).poles:
        formula = pole.formula
        value = "NaN" if math.isnan(pole.actual) else "infinite"
        is_at_zero = any(argument == 0 for _, argument in pole.at)
        expected = number(0.0 if abs(pole.expected) < ROUNDED else pole.expected)
        yield Finding(
            formula.span_of(formula.tree),
            f'the {quantity(formula)} of "{pole.name}" is {value} at {values(pole.at)}, '
            f"where the derivative is {expected}",
            help=AT_ZERO if is_at_zero else ELSEWHERE,
            at=formula.written,
            severity=None if is_at_zero else Severity.ERROR,
        )
