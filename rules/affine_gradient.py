"""A backward formula has a term without the gradient.

## What it detects
A sum, a "where", a "masked_fill" or a "?:" with one operand that depends on the gradient and another, nonzero one that
does not.

## Why it is bad
A backward formula is a vector-Jacobian product: a gradient of zero gives a gradient of zero. With such a term,
parameters are updated even though the loss does not depend on them.

## Example
    - name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
      self: grad.masked_fill(mask, value)
      mask: non_differentiable

## Instead
    - name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
      self: grad.masked_fill(mask, 0)
      mask: non_differentiable

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
from derivlint.lint.engine.precedence import NONLINEAR
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import AFFINE, degree_findings
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="gradients", yields_to=NONLINEAR, reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: clamp_min(Tensor self, Scalar min) -> Tensor
  self: where(self >= min, grad, at::scalar_tensor(0., grad.options()))
""",
)

INVALID = (
    Invalid(
        at="2:32-37",
        message='the term "value" does not depend on the gradient "grad", in which the rest of the sum is linear',
        help='multiply it by "grad", or remove the term',
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj() + result
""",
        at="2:32-38",
        message='the term "result" does not depend on the gradient "grad", in which the rest of the sum is linear',
        help='multiply it by "grad", or remove the term',
    ),
    Invalid(
        """\
- name: lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
  self: 'weight.isComplex() ? self * (1 - weight.conj().toComplexDouble()) : grad * (1 - weight.toDouble())'
  end: grad * weight.conj()
""",
        at="2:31-75",
        message=(
            'the branch "self * (1 - weight.conj().toComplexDouble())" does not depend on the gradient '
            '"grad", in which the other is linear'
        ),
        help='multiply it by "grad"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the backward formulas that are affine."""
    return degree_findings(entry, model, AFFINE, backward=True)
