"""A backward formula is not the derivative of the operator.

## What it detects

A backward formula whose value for tensors with one element is not what the operator's own values say: a sign, a
constant, a factor, an argument or a condition is wrong. Both are computed at several points, real and, for operators
on PyTorch's complex list, complex ones.

## Why it is bad

The gradient is wrong wherever it is used, and nothing raises.

## Example

    - name: cos(Tensor self) -> Tensor
      self: grad * self.sin().conj()

## Instead

    - name: cos(Tensor self) -> Tensor
      self: grad * -self.sin().conj()

## What it cannot see

What shows only with several elements: a wrong dimension, a missing transposition, sizes, normalization over several
elements. Operators and helpers whose values for one element are not in the table, and formulas that call them. Formulas
that are not linear in the gradient are left to "nonlinear-gradient", factors that only lack "conj()" to
"missing-conjugate".

## Sources

Griewank and Walther, Evaluating Derivatives, section 3; the PyTorch note "Autograd mechanics", section "Autograd for
Complex Numbers".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.value_wording import differs
from derivlint.meaning.one_element.judgement import judgement_of
from derivlint.model import Model

META = RuleMeta(severity=Severity.ERROR)

VALID = (
    """\
- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin().conj()
""",
    # another way to write it
    """\
- name: tanh(Tensor self) -> Tensor
  self: grad - grad * (result * result).conj()
""",
    # a convention where there is no derivative
    """\
- name: relu(Tensor self) -> Tensor
  self: at::where(result <= 0, at::zeros({}, self.options()), grad)
""",
)

INVALID = (
    Invalid(
        """\
- name: cos(Tensor self) -> Tensor
  self: grad * self.sin().conj()
""",
        at="2:9-33",
        message='the gradient of "self" is -0.54 at self = 0.571, grad = 1; the formula gives 0.54',
        help="the numbers are those of tensors with one element",
    ),
    Invalid(
        """\
- name: addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
  self: maybe_multiply(grad, beta.conj())
  mat1: mm_mat1_backward(grad, mat1, mat1.sym_sizes(), mat1.sym_strides(), mat1.layout(), alpha)
  mat2: mm_mat2_backward(grad, mat1, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), alpha)
""",
        at="3:9-97",
        message=(
            'the gradient of "mat1" is 0.405 at self = 0.571, mat1 = 0.483, mat2 = 0.405, alpha = 1, grad = '
            "1; the formula gives 0.483"
        ),
        help="the numbers are those of tensors with one element",
    ),
    Invalid(
        """\
- name: clamp_max(Tensor self, Scalar max) -> Tensor
  self: where(self >= max, grad, at::scalar_tensor(0., grad.options()))
""",
        at="2:9-72",
        message='the gradient of "self" is 1 at self = 0.571, max = 0.711, grad = 1; the formula gives 0',
        help="the numbers are those of tensors with one element",
    ),
)


def check(model: Model) -> Iterator[Finding]:
    """Find the backward formulas that contradict the operator."""
    for wrong in judgement_of(model).wrong:
        formula = wrong.formula
        if formula.is_backward:
            yield Finding(
                formula.span_of(formula.tree),
                differs("gradient", wrong.name, wrong.at, wrong.expected, wrong.found),
                help="the numbers are those of tensors with one element",
                at=formula.line,
            )
