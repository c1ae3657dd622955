"""A backward formula uses a primal or tangent.

## What it detects
``x_p``, ``x_t`` or ``original_self_p`` in the formula of an argument.

## Why it is bad
Primals and tangents exist only where forward formulas are evaluated. A backward formula uses the saved argument under
its own name. PyTorch's generator copies the name, and the C++ compiler reports an undeclared identifier.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * self_p.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Fix safety
The fix drops the suffix of a primal. It is unsafe, because the formula may belong to another key.

## Sources
torchgen/packaged/autograd/gen_autograd_functions.py, ``process_function``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula
from derivlint.model.generated.forward import TANGENT
from derivlint.model.scope import NotDeclared, UndeclaredName, first_undeclared, undeclared_names

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("X2",), yields_to=(UNREAD,))

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: self_t * self_p.sgn()
""",
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
)

INVALID = (
    Invalid(
        at="2:16-22",
        message='"self_p" is a primal, which only forward formulas have',
        help='use "self"',
        fixed="  self: grad * self.sgn()",
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(self_t, other, self.scalar_type())
""",
        at="2:29-35",
        message='"self_t" is a tangent, which only forward formulas have',
        help='a backward formula has the gradient of the output, "grad"',
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the primals and tangents of one backward formula."""
    # report only one name of a forward formula under the key of an argument
    for name in islice(first_undeclared(formula, NotDeclared.PRIMAL_IN_BACKWARD), 1):
        is_tangent = name.word.text.endswith(TANGENT)
        kind = "a tangent" if is_tangent else "a primal"
        subject = name.subject or ""
        yield Finding(
            formula.span_of(name.word),
            f"{quoted(name.word.text)} is {kind}, which only forward formulas have",
            help='a backward formula has the gradient of the output, "grad"'
            if is_tangent
            else f"use {quoted(subject)}",
            fix=None if is_tangent else _fix(formula, name, subject),
        )


def _fix(formula: DerivativeFormula, name: UndeclaredName, subject: str) -> Fix | None:
    if not formula.is_exact():
        return None
    uses = [undeclared.word for undeclared in undeclared_names(formula) if undeclared.word.text == name.word.text]
    edits = tuple(TextEdit(formula.span_of(word), subject) for word in uses)
    return Fix(f"replace it by {quoted(subject)}", edits, safe=False)
