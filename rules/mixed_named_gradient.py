"""A named gradient is mixed with grad or grads.

## What it detects
The backward formulas of one dispatch key use the gradient of an output by its name, ``grad_<output>``, and ``grad`` or
``grads`` as well.

## Why it is bad
The generated node declares the gradients in one of the three forms. PyTorch's generator rejects the entry.

## Example
    - name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
      A: linalg_qr_backward(grad_Q, grads[1], Q, R, mode)

## Instead
    - name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
      A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)

## Fix safety
The output that ``grads[i]`` stands for is known; ``grad`` is taken to be the first output. The fix is unsafe.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``check_grad_usage``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, Related, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DispatchBody
from derivlint.model.generated.gradients import MIXED_NAMED, BodyGradients, gradients_of, named_gradient_of

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("L20",))

VALID = (
    """\
- name: linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)
  A: linalg_qr_backward(grads[0], grads[1], Q, R, mode)
""",
)

INVALID = (
    Invalid(
        at="2:33-41",
        message='"grads[1]" is used beside the named gradient "grad_Q"',
        help='use "grad_R"',
        fixed="  A: linalg_qr_backward(grad_Q, grad_R, Q, R, mode)",
    ),
    Invalid(
        """\
- name: linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)
  A: -at::matmul(inverse.mH(), at::matmul(grad_inverse, inverse_of(grad)))
  output_differentiability: [True, False]
""",
        at="2:68-72",
        message='"grad" is used beside the named gradient "grad_inverse"',
        help='use "grad_inverse"',
        fixed="  A: -at::matmul(inverse.mH(), at::matmul(grad_inverse, inverse_of(grad_inverse)))",
    ),
)


@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Check the gradients that the formulas of one dispatch key use."""
    gradients = gradients_of(body)
    if gradients.conflict != MIXED_NAMED:
        return
    named_line, named = gradients.named[0]
    names = list(dict.fromkeys(word.text for _, word in gradients.named))
    if gradients.grad:
        formula, word = gradients.grad[0]
        where, written, index = formula.span_of(word), word.text, 0
    else:
        formula, word = gradients.grads[0]
        where, written, index = formula.span_of(word), word.text, -1
        first = next((item for at, item in gradients.indexed if at is formula and item.node.start == word.start), None)
        if first is not None:
            where, written, index = formula.span_of(first.node), f"grads[{first.index}]", first.index
    cure = named_gradient_of(body, index)
    yield Finding(
        where,
        f"{quoted(written)} is used beside the named gradient {quoted(named.text)}",
        help=f"use {quoted(cure)}" if cure is not None else f"the formulas also use {quoted_list(names)}",
        related=(Related(f"{quoted(named.text)} is used here", named_line.span_of(named)),),
        fix=_fix(body, gradients),
        at=formula,
    )


def _fix(body: DispatchBody, gradients: BodyGradients) -> Fix | None:
    """Replace every gradient by the name of its output, if all outputs have names."""
    if len(gradients.indexed) != len(gradients.grads):
        return None
    uses = [(formula, formula.span_of(word), 0) for formula, word in gradients.grad]
    uses += [(formula, formula.span_of(item.node), item.index) for formula, item in gradients.indexed]
    edits = []
    for formula, where, index in uses:
        name = named_gradient_of(body, index)
        if name is None or not formula.is_exact():
            return None
        edits.append(TextEdit(where, name))
    return Fix("use the named gradients", tuple(edits), safe=False)
