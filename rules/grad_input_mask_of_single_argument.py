"""A formula for one argument uses grad_input_mask.

## What it detects
``grad_input_mask`` in a backward formula whose key names a single argument.

## Why it is bad
The mask flags which of several gradients are requested. The generated code declares it only for keys with several
arguments, so the C++ compiler reports an undeclared identifier.

## Example
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self: atan2_backward(grad, self, other, grad_input_mask)

## Instead
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: atan2_backward(grad, self, other, grad_input_mask)

## Sources
torchgen/packaged/autograd/gen_autograd_functions.py, ``emit_derivative``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula
from derivlint.model.scope import NotDeclared, first_undeclared

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("X2",), yields_to=(UNREAD,))

VALID = (
    """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
""",
)

INVALID = (
    Invalid(
        at="2:43-58",
        message='"grad_input_mask" does not exist in a formula for "self" alone',
        help="name all arguments whose gradients the formula computes in its key",
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: "grad_input_mask[0] ? mul_tensor_backward(grad, self, other.scalar_type()) : Tensor()"
""",
        at="3:11-26",
        message='"grad_input_mask" does not exist in a formula for "other" alone',
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the use of the mask in one backward formula."""
    for name in first_undeclared(formula, NotDeclared.MASK_IN_SINGLE):
        yield Finding(
            formula.span_of(name.word),
            f'"grad_input_mask" does not exist in a formula for {quoted(formula.names[0].text)} alone',
            help="name all arguments whose gradients the formula computes in its key",
        )
