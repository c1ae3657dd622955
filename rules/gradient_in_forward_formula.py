"""A forward formula uses a gradient.

## What it detects
``grad``, ``grads``, ``grad_<output>``, ``grad_input_mask`` or ``retain_variables`` in the formula of an output.

## Why it is bad
A forward formula runs with the operator, where gradients of outputs do not exist; it has tangents, ``self_t``, instead.
PyTorch's generator copies the name, and the C++ compiler reports an undeclared identifier.

## Example
    - name: sin(Tensor self) -> Tensor
      self: grad * self.cos().conj()
      result: grad * self_p.cos()

## Instead
    - name: sin(Tensor self) -> Tensor
      self: grad * self.cos().conj()
      result: self_t * self_p.cos()

## Fix safety
Replacing ``grad`` by the tangent is unsafe: the formula may be a copy of the backward formula, which renaming does not
turn into a forward formula. Where the formula has the tangent already, nothing is offered.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_fw_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import Word
from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import EXCHANGED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula
from derivlint.model.generated.gradients import GRAD_INPUT_MASK
from derivlint.model.scope import RETAIN_VARIABLES, NotDeclared, UndeclaredName, first_undeclared, visible_tangents

META = RuleMeta(
    severity=Severity.ERROR,
    group="names",
    checks=("X2",),
    yields_to=(EXCHANGED,),
)

VALID = (
    # an argument may have the name of a gradient
    """\
- name: sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor
  grad_output: sigmoid_backward(grad, output)
  output: grad.conj() * grad_output * (-2 * output.conj() + 1)
  result: sigmoid_backward(grad_output_t, output_p) + output_t.conj() * grad_output_p * (-2 * output_p.conj() + 1)
""",
)

INVALID = (
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
  result: f(grad, self_t, other_t)
""",
        at="3:13-17",
        message='"grad" does not exist in a forward formula',
        help='a forward formula has tangents: "self_t" and "other_t"',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
  result: f(self_t, other_t, grad_input_mask)
""",
        at="3:30-45",
        message='"grad_input_mask" does not exist in a forward formula',
    ),
    # the output has the sizes of the gradient
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
  result: self_t * result.expand_as(grad)
""",
        at="3:37-41",
        message='"grad" does not exist in a forward formula',
        help='a forward formula has tangents: "self_t"',
    ),
    Invalid(
        at="3:11-15",
        message='"grad" does not exist in a forward formula',
        help='a forward formula has tangents: "self_t"',
        fixed="  result: self_t * self_p.cos()",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the gradients of one forward formula."""
    for name in first_undeclared(formula, NotDeclared.GRADIENT_IN_FORWARD):
        tangents = visible_tangents(formula)
        # with several tangents any may be meant, and beside a tangent an output
        is_clear = len(tangents) == 1 and not any(word.text == tangents[0] for word in formula.parsed.words)
        meant = [(word.start, word.end, tangents[0]) for word in _uses(formula, name)] if is_clear else []
        is_gradient = name.word.text not in (GRAD_INPUT_MASK, RETAIN_VARIABLES)
        yield Finding(
            formula.span_of(name.word),
            f"{quoted(name.word.text)} does not exist in a forward formula",
            help=f"a forward formula has tangents: {quoted_list(tangents)}" if is_gradient and tangents else None,
            fix=formula_fix(formula, f"use {quoted(tangents[0])}", meant) if is_gradient and meant else None,
        )


def _uses(formula: DerivativeFormula, name: UndeclaredName) -> list[Word]:
    return [word for word in formula.parsed.words if word.text == name.word.text and word.role == name.word.role]
