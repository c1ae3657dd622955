"""Gradients are not passed in the order of the outputs.

## What it detects
A call that is passed "grads[i]" and then "grads[j]" of an earlier output.

## Why it is bad
Backward helpers take the gradients in the order of the outputs. Both are tensors, so a swap compiles, and the gradient
of the input is silently wrong. No formula of PyTorch passes them in another order.

## Example
    - name: var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> \
(Tensor, Tensor)
      self: var_mean_backward(grads[1], grads[0], self, dim, correction, keepdim)

## Instead
    - name: var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> \
(Tensor, Tensor)
      self: var_mean_backward(grads[0], grads[1], self, dim, correction, keepdim)

## Fix safety
Swapping the two is unsafe: it changes the gradient.

## What it cannot see
Gradients that are not passed directly, and named gradients. A helper that really takes them in another order is a false
positive.

## Sources
torch/csrc/autograd/FunctionsManual.h and native_functions.yaml, for the names of parameters; Rice and others, Detecting
Argument Selection Defects (OOPSLA 2017).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.calls.argument_order import MismatchKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.judging import judges
from derivlint.lint.shared.argument_order import order_finding, wrongly_passed
from derivlint.lint.shared.typed_edits import swapped
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="arguments",
    yields_to=(SupersededBy(("grads-index-out-of-range",), "one of them does not exist", Within.FORMULA),),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> \
(Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
""",
)

INVALID = (
    Invalid(
        at="2:27-35",
        message='"var_mean_backward" is passed "grads[1]" before "grads[0]"',
        help="helpers take the gradients in the order of the outputs",
        fixed="  self: var_mean_backward(grads[0], grads[1], self, dim, correction, keepdim)",
    ),
    Invalid(
        """\
- name: grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int \
padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)
  grad_output, input, grid: grid_sampler_2d_double_backward(grads[1], grads[0], grad_output, input, grid, \
interpolation_mode, padding_mode, align_corners, grad_input_mask)
""",
        at="2:61-69",
        message='"grid_sampler_2d_double_backward" is passed "grads[1]" before "grads[0]"',
        help="helpers take the gradients in the order of the outputs",
        fixed=(
            "  grad_output, input, grid: grid_sampler_2d_double_backward(grads[0], grads[1], grad_output, input, "
            "grid, interpolation_mode, padding_mode, align_corners, grad_input_mask)"
        ),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the calls with gradients out of order."""
    for problem in wrongly_passed(entry, model):
        if problem.kind is MismatchKind.DISORDER:
            first, second = problem.names[:2]
            yield order_finding(
                problem,
                f"{quoted(first)} before {quoted(second)}",
                "helpers take the gradients in the order of the outputs",
                swapped(problem),
            )
