"""The gradient of an output that is declared differentiable is ignored.

## What it detects
``grad`` in the backward formulas of an entry whose ``output_differentiability`` calls two or more outputs
differentiable.

## Why it is bad
``grad`` is the gradient of the first differentiable output. If a formula uses it, the gradients of the other outputs
are dropped: a loss that depends on them silently gets a wrong gradient.

## Example
    - name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
      output_differentiability: [True, True]
      A: qr_backward(grad, Q, R)

## Instead
    - name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
      A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)

## Sources
torchgen/api/autograd.py, ``gen_differentiable_outputs``; torchgen/packaged/autograd/gen_autograd_functions.py,
``process_function``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNKNOWN_OUTPUTS
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DispatchBody, Output
from derivlint.model.generated.gradients import GRAD, NAMED_PREFIX, body_gradients

META = RuleMeta(
    severity=Severity.WARNING,
    group="differentiability",
    checks=("X3",),
    yields_to=(UNKNOWN_OUTPUTS,),
)

VALID = (
    """\
- name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
  output_differentiability: [True, True]
  A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)
""",
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
)

INVALID = (
    Invalid(
        at="3:18-22",
        message='"grad" is the gradient of "Q" only; the gradient of "R" is ignored',
        help='use "grad_Q" and "grad_R", or write "output_differentiability: [True, False]"',
    ),
    Invalid(
        """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  output_differentiability: [True, True]
  self: std_backward(result0, grad, self, dim, correction, keepdim)
""",
        at="3:31-35",
        message='"grad" is the gradient of "result0" only; the gradient of "result1" is ignored',
        help='use "grads[0]" and "grads[1]", or write "output_differentiability: [True, False]"',
    ),
)


@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Find the first ``grad`` where several outputs are declared differentiable."""
    declared, function = body.entry.output_differentiability, body.entry.function
    if declared is None or declared.values is None or function is None:
        return
    if len(declared.values) != len(function.outputs):
        return
    outputs = [
        output
        for output, value in zip(function.outputs, declared.values, strict=True)
        if value and output.type.is_tensor_like
    ]
    # an argument named "grad" hides the gradient
    if len(outputs) < 2 or function.argument(GRAD) is not None:
        return
    uses = body_gradients(body)
    # another rule reports both notations in one entry
    if any(use.grads or use.named for use in uses):
        return
    for use in uses:
        for word in use.grad:
            first, *ignored = [output.name for output in outputs]
            flags = ", ".join(str(output is outputs[0]) for output in function.outputs)
            yield Finding(
                use.written.span_of(word),
                f'"grad" is the gradient of {quoted(first)} only; the '
                f"{'gradient' if len(ignored) == 1 else 'gradients'} of {quoted_list(ignored)} "
                f"{'is' if len(ignored) == 1 else 'are'} ignored",
                help=f'use {quoted_list(_gradients(outputs))}, or write "output_differentiability: [{flags}]"',
                related=(Related("the differentiable outputs are declared here", body.entry.place(declared.node)),),
                at=use.written,
            )
            return


def _gradients(outputs: list[Output]) -> list[str]:
    if all(output.declared_name is not None for output in outputs):
        return [f"{NAMED_PREFIX}{output.declared_name}" for output in outputs]
    return [f"grads[{index}]" for index in range(len(outputs))]
