"""A backward formula is not linear in the gradient.

## What it detects
An output gradient that is multiplied by itself or by another gradient, used as a divisor, or passed through a nonlinear
function.

## Why it is bad
A backward formula is a vector-Jacobian product: twice the gradient of the output gives twice the gradient of the input.
A formula that is not linear is wrong for every loss, and it compiles.

## Example
    - name: sin(Tensor self) -> Tensor
      self: grad * grad * self.cos().conj()

## Instead
    - name: sin(Tensor self) -> Tensor
      self: grad * self.cos().conj()

## What it cannot see
Helpers with neither a body in the checkout nor a reference definition are assumed to be linear in their gradients and
tangents, which are recognized by parameter name. Values computed by unknown operators are not judged, nor are operators
for PyTorch's own tests ("_test_..."), whose formulas are wrong on purpose.

## Sources
Griewank and Walther, Evaluating Derivatives, section 3; the notes at the head of derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine import precedence
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import NONLINEAR, degree_findings
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR, group="gradients", yields_to=precedence.NONLINEAR, reads=AnalysisDepth.SEMANTICS
)

VALID = (
    """\
- name: hardswish_backward(Tensor grad_output, Tensor self) -> Tensor
  grad_output: hardswish_backward(grad, self)
  self: at::where(at::logical_and(-3.0 < self, self < 3.0), grad * grad_output / 3.0, at::zeros({}, self.options()))
""",
    """\
- name: div.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad / other.conj()
  other: -grad * ((self / other) / other).conj()
""",
)

INVALID = (
    Invalid(
        at="2:9-20",
        message='the gradient "grad" is multiplied by itself',
        help='use "grad" once in each term, as a factor',
    ),
    Invalid(
        """\
- name: div.Tensor(Tensor self, Tensor other) -> Tensor
  self: div_tensor_self_backward(grad, other, self.scalar_type())
  other: self / grad
""",
        at="3:10-21",
        message='"self / grad" divides by the gradient "grad"',
        help='use "grad" once in each term, as a factor',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad.abs() * self.sgn()
""",
        at="2:9-19",
        message='"grad.abs()" is not linear in the gradient "grad"',
        help='use "grad" once in each term, as a factor',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the backward formulas that are not linear."""
    return degree_findings(entry, model, NONLINEAR, backward=True)
