"""A forward formula has a term without a tangent.

## What it detects
A sum, a "where", a "lerp", a "masked_fill" or a "?:" with one operand that depends on a tangent and another, nonzero
one that does not: often a primal, "self_p", written where the tangent, "self_t", was meant.

## Why it is bad
A forward formula is a Jacobian-vector product: tangents of zero give a tangent of zero. With such a term, the output
has a tangent even when no input has one.

## Example
    - name: addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
      self: maybe_multiply(grad, beta.conj())
      mat: maybe_multiply(grad.ger(vec.conj()), alpha.conj())
      vec: maybe_multiply(mat.t().conj().mv(grad), alpha.conj())
      result: maybe_multiply(self_p, beta) + maybe_multiply(mat_t.mv(vec_p), alpha) + \
maybe_multiply(mat_p.mv(vec_t), alpha)

## Instead
    - name: addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
      self: maybe_multiply(grad, beta.conj())
      mat: maybe_multiply(grad.ger(vec.conj()), alpha.conj())
      vec: maybe_multiply(mat.t().conj().mv(grad), alpha.conj())
      result: maybe_multiply(self_t, beta) + maybe_multiply(mat_t.mv(vec_p), alpha) + \
maybe_multiply(mat_p.mv(vec_t), alpha)

## What it cannot see
Helpers with neither a body in the checkout nor a reference definition are assumed to be linear in their gradients and
tangents, which are recognized by parameter name. Values computed by unknown operators are not judged, nor are operators
for PyTorch's own tests ("_test_..."), whose formulas are wrong on purpose.

## Sources
Griewank and Walther, Evaluating Derivatives, section 3; the notes at the head of derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import NONLINEAR
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import AFFINE, degree_findings
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR,
    group="tangents",
    yields_to=(
        *NONLINEAR,
        SupersededBy(
            ("missing-argument-derivative",),
            "the tangent that is missing is that of an argument without a formula",
            Within.ENTRY,
            joins=True,
        ),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: non_differentiable
  result: self_t.masked_fill(mask, 0)
""",
    """\
- name: lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
  self: 'weight.isComplex() ? grad * (1 - weight.conj().toComplexDouble()) : grad * (1 - weight.toDouble())'
  end: grad * weight.conj()
  result: at::lerp(self_t, end_t, weight)
""",
)

INVALID = (
    Invalid(
        """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: non_differentiable
  result: self_t.masked_fill(mask, value)
""",
        at="4:36-41",
        message='the term "value" does not depend on the tangent "self_t", in which the rest of the sum is linear',
        help='multiply it by "self_t", or remove the term',
    ),
    Invalid(
        at="5:11-39",
        message=(
            'the term "maybe_multiply(self_p, beta)" does not depend on the tangent "mat_t", in which '
            "the rest of the sum is linear"
        ),
        help='write "self_t" for "self_p", or remove the term',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas that are affine."""
    return degree_findings(entry, model, AFFINE, backward=False)
