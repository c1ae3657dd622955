"""A forward formula reads an output that has no gradient.

## What it detects

A forward formula that depends on the value of an output which is not differentiable and holds neither indices nor a
mask: a statistic that the operator saves. The rule has medium confidence and runs with "--min-confidence medium".

## Why it is bad

The tangent is right, and its derivative is not: the part of it that comes through the saved statistic counts as
constant, in reverse over forward mode and in nested forward mode.

## Example

    - name: native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, \
float eps) -> (Tensor, Tensor, Tensor)
      output_differentiability: [True, False, False]
      input, weight, bias: "grad.defined() ? native_group_norm_backward_symint(grad, input, result1, result2, \
weight, N, C, HxW, group, grad_input_mask) : std::tuple<Tensor, Tensor, Tensor>()"
      result0: group_norm_jvp(input_p, input_t, weight_p, weight_t, bias_p, bias_t, result1, result2, group)

## Instead

Let the output be differentiable, with a forward formula of its own, or compute the statistic from the input again.

## What it cannot see

Whether the operator is ever differentiated twice, and whether a helper uses what it gets.

## Sources

torchgen/packaged/autograd/gen_variable_type.py, "emit_fw_derivatives".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Confidence, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.wording import quoted
from derivlint.meaning import meaning_of
from derivlint.meaning.missing import statistics_in_tangents
from derivlint.model import Model

META = RuleMeta(severity=Severity.WARNING, confidence=Confidence.MEDIUM, compares=True)

VALID = (
    """\
- name: sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor \
indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)
  values: gather_with_keepdimed_indices(self_t, dim, indices, true)
""",
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
  result: self_t * result
""",
)

INVALID = (
    Invalid(
        """\
- name: log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
  output_differentiability: [True, False]
  self: log_sigmoid_backward(grad, self, buffer)
  output: log_sigmoid_backward(self_t.conj(), self_p, buffer).conj()
""",
        at="4:11-69",
        message='the forward formula reads "buffer", which has no gradient: its derivative lacks that part',
        help="let the output be differentiable, or compute it again from the input",
    ),
    Invalid(
        """\
- name: _linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)
  output_differentiability: [True, False, False]
  A: linalg_det_backward(grad, result, A, LU, pivots)
  result: linalg_det_jvp(A_t, result, LU, pivots, A_p.is_contiguous() && !A_p.is_complex())
""",
        at="4:11-92",
        message='the forward formula reads "LU", which has no gradient: its derivative lacks that part',
        help="let the output be differentiable, or compute it again from the input",
    ),
)


def check(model: Model) -> Iterator[Finding]:
    """Find the forward formulas that read saved statistics."""
    meaning = meaning_of(model)
    for body in model.bodies():
        for interpretation, name in statistics_in_tangents(meaning, body):
            line = interpretation.formula.line
            yield Finding(
                line.value.span,
                f"the forward formula reads {quoted(name)}, which has no gradient: its derivative lacks that part",
                help="let the output be differentiable, or compute it again from the input",
                at=line,
            )
