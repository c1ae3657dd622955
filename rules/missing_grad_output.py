"""A double backward formula does not depend on the operator's incoming gradient.

## What it detects
The backward formula for an input of an operator "..._backward" in which the operator's own gradient argument
("grad_output") has no part, and which is neither zero nor "not_implemented".

## Why it is bad
A backward operator is linear in its gradient argument, so that its derivative for any other input is proportional to
it. Without that factor the second derivative is only right where the gradient is one.

## Example
    - name: mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
      grad_output: mse_loss_double_backward_grad_output(grad, grad_output, self, target, reduction)
      self: mse_loss_double_backward(grad, self, reduction)

## Instead
    - name: mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
      grad_output: mse_loss_double_backward_grad_output(grad, grad_output, self, target, reduction)
      self: mse_loss_double_backward(grad * grad_output, self, reduction)

## What it cannot see
A factor that occurs but has no effect. Operators with several gradient arguments.

## Sources
Head of derivatives.yaml, the note on double backward.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.missing import missing_factors
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import CONFLICT, FOREIGN_KEY, PYTHON
from derivlint.lint.judging import judges
from derivlint.lint.wording import closest, quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="gradients",
    yields_to=(
        CONFLICT,
        FOREIGN_KEY,
        PYTHON,
        SupersededBy(("primal-in-backward-formula",), "formulas are exchanged", Within.FORMULA),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor
  grad_output: softplus_backward(grad, self, beta, threshold)
  self: softplus_double_backward(grad * grad_output, self, beta, threshold)
""",
    """\
- name: avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool \
ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
  grad_output: avg_pool2d(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
  self: zeros_like(self)
""",
)

INVALID = (
    Invalid(
        at="3:9-56",
        message='the formula does not use "grad_output", in which "mse_loss_backward" is linear',
        help='multiply by "grad_output"',
    ),
    Invalid(
        """\
- name: hardswish_backward(Tensor grad_output, Tensor self) -> Tensor
  grad_output: hardswish_backward(grad, self)
  self: at::where(at::logical_and(-3.0 < self, self < 3.0), grad / 3.0, at::zeros({}, self.options()))
""",
        at="3:9-103",
        message='the formula does not use "grad_output", in which "hardswish_backward" is linear',
        help='multiply by "grad_output"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the double backward formulas without the gradient argument."""
    analyses = analyses_of(model)
    for interpretation in analyses.interpretations(entry):
        for missing in missing_factors(interpretation):
            if closest(missing.gradient, interpretation.formula.variables) is not None:
                # the argument is there, but misspelt
                continue
            formula = interpretation.formula.written
            yield Finding(
                formula.value_span,
                f"the formula does not use {quoted(missing.gradient)}, "
                f"in which {quoted(entry.operator or '')} is linear",
                help=f"multiply by {quoted(missing.gradient)}",
                at=formula,
            )
