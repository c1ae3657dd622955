"""A forward formula is not linear in the tangents.

## What it detects
A tangent that is multiplied by itself or by another tangent, used as a divisor, or passed through a nonlinear function.
This also applies to the expansion of "auto_linear": "auto_linear" on a product of two differentiable inputs multiplies
their tangents.

## Why it is bad
A forward formula is a Jacobian-vector product: twice the tangents of the inputs give twice the tangent of the output. A
product of two tangents belongs to the second derivative. Such a formula compiles, and forward-mode gradients are wrong.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: other_t * self_t

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: other_t * self_p + self_t * other_p

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
    severity=Severity.ERROR, group="tangents", yields_to=precedence.NONLINEAR, reads=AnalysisDepth.SEMANTICS
)

VALID = (
    """\
- name: dist(Tensor self, Tensor other, Scalar p=2) -> Tensor
  self: norm_backward(grad, self - other, p, result)
  other: -norm_backward(grad, self - other, p, result)
  result: norm_jvp(self_p - other_p, self_t - other_t, p, result, {}, false)
""",
)

INVALID = (
    Invalid(
        at="4:11-27",
        message='the tangents "other_t" and "self_t" are multiplied by each other',
        help='use only one of "other_t" and "self_t" in each term, as a factor',
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
  mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
  result: auto_linear
""",
        at="4:11-22",
        message=(
            '"auto_linear" stands for "at::mm(self_t, mat2_t)", in which the tangents "mat2_t" and "self_t" '
            "are multiplied by each other"
        ),
        help="write out the forward formula",
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
  result: self_t.exp() * result
""",
        at="3:11-23",
        message='"self_t.exp()" is not linear in the tangent "self_t"',
        help='use "self_t" once in each term, as a factor',
    ),
    Invalid(
        """\
- name: topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)
  values: auto_linear
""",
        at="3:11-22",
        message=(
            '"auto_linear" stands for "at::topk_symint(self_t, k, dim, largest, sorted)", which is not linear in the '
            'tangent "self_t"'
        ),
        help="write out the forward formula",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas that are not linear."""
    return degree_findings(entry, model, NONLINEAR, backward=False)
