"""A forward formula reads an output that has no gradient.

## What it detects
A forward formula that depends on the value of an output which is not differentiable and holds neither indices nor a
mask: a statistic that the operator saves. Where the formula only passes it to an unknown function, the finding has
medium confidence, and is shown with "--min-confidence medium". A function that takes the statistic from its other
arguments, or that ignores it in this call, is not reported.

## Why it is bad
The tangent is right, but its derivative is not: the saved statistic is treated as a constant in reverse-over-forward
mode and in nested forward mode.

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
Whether the operator is ever differentiated twice, and whether a helper uses its argument.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, "emit_fw_derivatives".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.statistics import statistics_in_tangents
from derivlint.lint import AnalysisDepth, Confidence, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="higher-order",
    confidence=Confidence.MEDIUM,
    compares=True,
    yields_to=(
        SupersededBy(("switched-off-gradient",), "the output may be meant to be differentiable", Within.ENTRY),
        SupersededBy(("misused-auto-element-wise", "misused-auto-linear"), "there is no formula", Within.FORMULA),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

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
    # the derivative of "log_sigmoid_backward" includes the path through the buffer
    """\
- name: log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)
  output_differentiability: [True, False]
  self: log_sigmoid_backward(grad, self, buffer)
  output: log_sigmoid_backward(self_t.conj(), self_p, buffer).conj()
""",
    # without training the saved moments are not used
    """\
- name: _native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, \
Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)
  input, weight, bias: "grad.defined() ? native_batch_norm_backward(grad, input, weight, running_mean, running_var, \
result1, result2, /*training=*/false, eps, grad_input_mask) : std::tuple<Tensor, Tensor, Tensor>()"
  result0: batch_norm_jvp(input_p, input_t, weight_p, weight_t, bias_p, bias_t, running_mean, running_var, result1, \
result2, /*training=*/false, eps)
""",
)

INVALID = (
    Invalid(
        at="4:12-105",
        message=(
            'the forward formula reads "result1" and "result2", which are not differentiable: its derivative '
            "treats them as constants"
        ),
        help="make the output differentiable, or compute it again from the input",
    ),
    Invalid(
        """\
- name: _linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)
  output_differentiability: [True, False, False]
  A: linalg_det_backward(grad, result, A, LU, pivots)
  result: linalg_det_jvp(A_t, result, LU, pivots, A_p.is_contiguous() && !A_p.is_complex())
""",
        at="4:11-92",
        message='the forward formula reads "LU", which is not differentiable: its derivative treats it as a constant',
        help="make the output differentiable, or compute it again from the input",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas that read saved statistics."""
    analyses = analyses_of(model)
    for body in entry.bodies:
        for statistics in statistics_in_tangents(analyses, body):
            formula = statistics.interpretation.formula.written
            verb, it, constant = (
                ("is", "it", "a constant") if len(statistics.names) == 1 else ("are", "them", "constants")
            )
            yield Finding(
                formula.value_span,
                f"the forward formula reads {quoted_list(statistics.names)}, which {verb} not differentiable: its "
                f"derivative treats {it} as {constant}",
                help="make the output differentiable, or compute it again from the input",
                at=formula,
                confidence=Confidence.HIGH if statistics.is_certain else None,
            )
