"""wrap_opt_if is not called with a variable and a condition.

## What it detects
``wrap_opt_if`` with a number of arguments other than two, or, in a formula for several arguments, with a space between
its first argument and the comma.

## Why it is bad
``wrap_opt_if(input, condition)`` saves ``input`` only if the condition holds. PyTorch's generator looks for the text
``wrap_opt_if(input,`` and fails with an assertion if it is not there. Elsewhere the C++ compiler reports that no
overload takes that number of arguments.

## Example
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: f(grad, wrap_opt_if(self), other, grad_input_mask)

## Instead
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: f(grad, wrap_opt_if(self, grad_input_mask[1]), other, grad_input_mask)

## Fix safety
Removing the space does not change the C++ expression.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``guard_for``; torch/csrc/autograd/FunctionsManual.h, ``wrap_opt_if``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Role
from derivlint.model.generated.gradients import wrap_opt_if_calls

META = RuleMeta(severity=Severity.ERROR, group="syntax", checks=("G11",))

VALID = (
    # the condition is not read in formulas for one argument
    """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: f(grad, wrap_opt_if(other , true))
""",
)

INVALID = (
    Invalid(
        at="2:24-41",
        message='"wrap_opt_if" takes 2 arguments, not 1',
        help="the second argument is the condition under which the variable is needed",
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: f(grad, wrap_opt_if(self , grad_input_mask[1]), other, grad_input_mask)
""",
        at="2:36-40",
        message='there is a space between "self" and the comma, so the condition is not found',
        fixed="  self, other: f(grad, wrap_opt_if(self, grad_input_mask[1]), other, grad_input_mask)",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the calls of ``wrap_opt_if`` in one backward formula."""
    info = formula.body.info
    if info is None or formula.role is not Role.BACKWARD or formula.text is None:
        return
    for guard in wrap_opt_if_calls(formula, info):
        args = guard.call.args
        if len(args) != 2:
            yield Finding(
                formula.span_of(guard.call),
                f'"wrap_opt_if" takes 2 arguments, not {len(args)}',
                help="the second argument is the condition under which the variable is needed",
            )
        elif guard.is_hidden:
            fix = None
            if formula.is_exact() and guard.comma is not None:
                fix = Fix("remove the blank", (TextEdit(formula.range(args[0].end, guard.comma), ""),))
            yield Finding(
                formula.span_of(args[0]),
                f"there is a space between {quoted(guard.variable or '')} and the comma, so the condition is not found",
                help=f"write {quoted(f'wrap_opt_if({guard.variable}, ...)')}",
                fix=fix,
            )
