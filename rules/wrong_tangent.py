"""A forward formula is not the derivative of the operator.

## What it detects
A forward formula whose value for one-element tensors does not match the derivative of the operator: a wrong sign,
constant, factor or term, or a primal in place of a tangent. Both are computed at several points, real and, for
operators on PyTorch's complex list, complex ones. Where the result depends on a dimension, a mask or an index,
tensors with a few elements are tried as well: there, a value that is infinite or NaN is wrong too.

## Why it is bad
Forward-mode derivatives and everything built on them (Jacobian-vector products, Hessians) are silently wrong.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: other_t * self_p - self_t * other_p

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: other_t * self_p + self_t * other_p

## What it cannot see
Operators and helpers whose values are not known, and formulas that call them. Formulas that are not linear in the
tangents are left to "nonlinear-tangent".

## Sources
Griewank and Walther, Evaluating Derivatives, section 3; the notes on forward-mode AD in derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_TANGENT
from derivlint.lint.judging import judges
from derivlint.lint.shared.value_wording import scalar_finding, tensor_findings
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR,
    group="tangents",
    yields_to=WRONG_TANGENT,
    reads=AnalysisDepth.VALUES,
)

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())
""",
)

INVALID = (
    Invalid(
        at="4:11-46",
        message=(
            'the tangent of "result" is 0.483 at self = 0.571, other = 0.483, self_t = 1; the formula gives -0.483'
        ),
        help="computed with one-element tensors",
    ),
    Invalid(
        """\
- name: hypot(Tensor self, Tensor other) -> Tensor
  self: grad * self / result
  other: grad * other / result
  result: self_t * self_p / result + other_t * self_p / result
""",
        at="4:11-63",
        message=(
            'the tangent of "result" is 0.646 at self = 0.571, other = 0.483, other_t = 1; the formula gives 0.763'
        ),
        help="computed with one-element tensors",
    ),
    # one element is its own reversal
    Invalid(
        """\
- name: flip(Tensor self, int[] dims) -> Tensor
  self: grad.flip(dims)
  result: self_t.clone()
""",
        at="3:11-25",
        message=(
            'the tangent of "result[0][0][0]" is -1.6 at self.sizes() = [2, 3, 5], dims = {0, 2}; '
            "the formula gives 1.49"
        ),
        help="computed with small tensors of distinct elements",
    ),
    # the tangents are in the list
    Invalid(
        """\
- name: stack(Tensor[] tensors, int dim=0) -> Tensor
  tensors: stack_tensors_backward(grad, dim, to_args_scalartypes(tensors))
  result: stack_jvp(tensors, dim).flip({dim})
""",
        at="3:11-46",
        message=(
            'the tangent of "result[0][0][0]" is 1.52 at tensors = {[2, 3], [2, 3], [2, 3], [2, 3], [2, 3]}, '
            "dim = 1; the formula gives 0.898"
        ),
        help="computed with small tensors of distinct elements",
    ),
    # no element equals the value, so their number is zero
    Invalid(
        """\
- name: median(Tensor self) -> Tensor
  self: evenly_distribute_backward(grad, self, result)
  result: evenly_read_jvp(self_t, self_p + self_p, result)
""",
        at="3:11-59",
        message='the tangent of "result" is -0.66 at self.sizes() = [3, 2, 5]; the formula gives NaN',
        help="computed with small tensors of distinct elements",
    ),
    # padding has a zero tangent
    Invalid(
        """\
- name: constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor
  self: constant_pad_nd_backward(grad, pad)
  result: auto_linear
""",
        at="3:11-22",
        message=(
            'the tangent of "result[0][0][0]" is 0 at self.sizes() = [2, 3, 7], pad = {1, 2, 3, 1}, value = 1; '
            "the formula gives 1"
        ),
        help="computed with small tensors of distinct elements",
    ),
    # autograd casts the gradient of a real input, but not its tangent
    Invalid(
        """\
- name: rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), maybe_multiply(-grad, alpha.conj()))
  result: auto_element_wise
""",
        at="3:11-28",
        message=(
            'the tangent of "result" is 0.59+0.62i at self = 0.571, alpha = -0.59-0.62i, self_t = 1; the formula gives '
            "0.59"
        ),
        help="computed with one-element tensors",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas that contradict the operator."""
    yield from (scalar_finding(wrong) for wrong in judgement_of(model, entry).wrong if not wrong.formula.is_backward)
    yield from tensor_findings(entry, model, backward=False)
