"""Only grads[0] is used, which should be written grad.

## What it detects
The backward formulas of one dispatch key use ``grads``, and always as ``grads[0]``.

## Why it is bad
``grad`` means the same, and also declares that only the first output is differentiable. With ``grads`` the other
outputs would count as differentiable although their gradients are dropped. PyTorch's generator rejects the entry.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grads[0] * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Fix safety
``grad`` is the same tensor as ``grads[0]``.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``check_grad_usage``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, SupersededBy, TextEdit, Within
from derivlint.lint.engine.precedence import FULL_STOP
from derivlint.lint.judging import judges
from derivlint.model import DispatchBody, Model
from derivlint.model.generated.gradients import ONLY_FIRST, gradients_of

META = RuleMeta(
    severity=Severity.ERROR,
    group="names",
    checks=("L19",),
    yields_to=(
        FULL_STOP,
        SupersededBy(("repeated-gradient",), "another gradient is meant", Within.FORMULA, joins=True),
        SupersededBy(("wrong-index",), 'in a foreach formula, "grads[i]" is meant'),
    ),
)

VALID = (
    # the whole list is passed too
    """\
- name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
  self: f(grads, grads[0])
""",
)

INVALID = (
    Invalid(
        at="2:9-17",
        message='"grads[0]" is the only gradient used, and should be written "grad"',
        help='use "grad"',
        fixed="  self: grad * self.sgn()",
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grads[0], other, self.scalar_type())
  other: mul_tensor_backward(grads[0], self, other.scalar_type())
""",
        at="2:29-37",
        message='"grads[0]" is the only gradient used, and should be written "grad"',
        fixed="""\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
""",
    ),
)


@judges(DispatchBody, Model)
def check(body: DispatchBody, model: Model) -> Iterator[Finding]:
    """Check the gradients that the formulas of one dispatch key use."""
    gradients = gradients_of(body)
    if gradients.conflict != ONLY_FIRST or model.natives.are_of_framework:
        return
    first_line, first = gradients.indexed[0]
    fix = None
    if all(formula.is_exact() for formula, _ in gradients.indexed):
        edits = tuple(TextEdit(formula.span_of(item.node), "grad") for formula, item in gradients.indexed)
        fix = Fix('write "grad"', edits)
    yield Finding(
        first_line.span_of(first.node),
        '"grads[0]" is the only gradient used, and should be written "grad"',
        help='use "grad"',
        fix=fix,
        at=first_line,
    )
