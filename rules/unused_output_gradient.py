"""The gradient of a differentiable output is not used.

## What it detects
The backward formulas of one dispatch key use some of "grads[i]" or "grad_<output>", and never that of another
differentiable output. A formula that passes "grads" on as a whole uses them all. Also a gradient that is used in one
branch of a condition, while the other branch uses other gradients only, unless the condition is about a gradient.

## Why it is bad
The contribution of that output to the loss is silently dropped. Either a formula lacks a term, or the output is not
differentiable and should be declared so.

## Example
    - name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
      A: linalg_qr_backward(grad_Q, {}, Q, R, mode)

## Instead
    - name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
      A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)

## What it cannot see
Formulas that use "grad": then only the first output is differentiable. A gradient that is used but whose value has no
effect.

## Sources
torchgen/packaged/autograd/load_derivatives.py, "used_gradient_indices"; head of derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.missing import one_sided_gradients, unused_output_gradients
from derivlint.lint import AnalysisDepth, Finding, Invalid, Related, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import UNKNOWN_OUTPUTS
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="differentiability",
    yields_to=(
        SupersededBy(("repeated-gradient",), "one gradient stands for another", Within.ENTRY),
        SupersededBy(("grads-index-out-of-range",), "another gradient is meant", Within.FORMULA),
        UNKNOWN_OUTPUTS,
        SupersededBy(("differentiable-integral-output",), "the output is not meant to be differentiable", Within.ENTRY),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # "grads[2]" does not exist, which is another rule's
    """\
- name: _thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor? \
hidden_bias=None) -> (Tensor, Tensor, Tensor)
  output_differentiability: [True, True, False]
  input_gates, hidden_gates, cx, input_bias, hidden_bias: "GradMode::is_enabled() ? \
_thnn_differentiable_lstm_cell_backward(grads[0], grads[2], input_gates, hidden_gates, input_bias, hidden_bias, \
cx, result1) : _thnn_fused_lstm_cell_backward(grads[0], grads[1], cx, result1, result2, input_bias.defined())"
""",
    # a condition on a gradient
    """\
- name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
  A: "grad_R.defined() ? linalg_qr_backward(grad_Q, grad_R, Q, R, mode) : linalg_qr_backward(grad_Q, {}, Q, R, mode)"
""",
    """\
- name: _thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor? \
hidden_bias=None) -> (Tensor, Tensor, Tensor)
  output_differentiability: [True, True, False]
  input_gates, hidden_gates, cx, input_bias, hidden_bias: _thnn_differentiable_lstm_cell_backward(grads[0], \
grads[1], input_gates, hidden_gates, input_bias, hidden_bias, cx, result1)
""",
)

INVALID = (
    Invalid(
        at="1:9-18",
        message='the gradient "grad_R" of the differentiable output "R" is not used, only "grad_Q"',
        help='use "grad_R", or write False for "R" in output_differentiability',
    ),
    Invalid(
        """\
- name: _thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor? \
hidden_bias=None) -> (Tensor, Tensor, Tensor)
  input_gates, hidden_gates, cx, input_bias, hidden_bias: _thnn_differentiable_lstm_cell_backward(grads[0], \
grads[1], input_gates, hidden_gates, input_bias, hidden_bias, cx, result1)
""",
        at="1:9-30",
        message=(
            'the gradient "grads[2]" of the differentiable output "result2" is not used, only "grads[0]" and "grads[1]"'
        ),
        help='use "grads[2]", or write False for "result2" in output_differentiability',
    ),
    Invalid(
        """\
- name: _thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor? \
hidden_bias=None) -> (Tensor, Tensor, Tensor)
  output_differentiability: [True, True, False]
  input_gates, hidden_gates, cx, input_bias, hidden_bias: "GradMode::is_enabled() ? \
_thnn_differentiable_lstm_cell_backward(hidden_gates[0], grads[1], input_gates, hidden_gates, input_bias, hidden_bias, \
cx, result1) : _thnn_fused_lstm_cell_backward(grads[0], grads[1], cx, result1, result2, input_bias.defined())"
""",
        at="3:85-216",
        message='this branch does not use the gradient "grads[0]", which the other branch uses',
        help='use "grads[0]" in both branches',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the outputs whose gradients are dropped."""
    analyses = analyses_of(model)
    for body in entry.bodies:
        for unused in unused_output_gradients(analyses, body):
            gradient = f"grad_{unused.output}" if unused.named else f"grads[{unused.index}]"
            yield Finding(
                body.entry.name_span,
                f"the gradient {quoted(gradient)} of the differentiable output {quoted(unused.output)} is not used, "
                f"only {quoted_list(unused.used)}",
                help=f"use {quoted(gradient)}, or write False for {quoted(unused.output)} in output_differentiability",
                related=(Related("a formula that uses another one", unused.last.key_span),),
                at=body,
                rests_on=(body.entry.operator or "",),
            )
    for interpretation in analyses.interpretations(entry):
        for one_sided in one_sided_gradients(interpretation):
            gradient = quoted(one_sided.gradient)
            yield Finding(
                one_sided.formula.span_of(one_sided.branch),
                f"this branch does not use the gradient {gradient}, which the other branch uses",
                help=f"use {gradient} in both branches",
                at=one_sided.formula.written,
            )
