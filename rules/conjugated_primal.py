"""A factor in a forward formula is conjugated.

## What it detects
A product of a tangent that is not conjugated and a factor that is, in the entry of an operator on PyTorch's complex
list, or of a foreach operator that applies one.

## Why it is bad
The tangent of a holomorphic function is the tangent of the input times the derivative, not its conjugate: the formula
was copied from the backward formula. Real tangents are right, complex ones silently wrong.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: other_t * self_p.conj() + self_t * other_p.conj()

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: other_t * self_p + self_t * other_p

## Fix safety
Removing ``.conj()`` is unsafe: it changes the tangent of complex tensors.

## What it cannot see
Factors in helpers. Formulas in which the tangent is conjugated as well are not reported: that is how operators that are
not holomorphic are written. Which operators take complex numbers is read from
the checkout or the release.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, "GRADIENT_IMPLEMENTED_FOR_COMPLEX"; the notes on forward-mode AD for
complex numbers in PyTorch's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.conjugation import Mistake, mistakes
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import shown
from derivlint.lint.shared.typed_edits import without_conj
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="complex", yields_to=(WRONG_VALUE,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: tanh_backward(Tensor grad_output, Tensor output) -> Tensor
  grad_output: tanh_backward(grad, output.conj())
  output: grad.conj() * (-2 * output.conj() * grad_output)
  result: tanh_backward(grad_output_t, output_p) + output_t.conj() * (-2 * output_p.conj() * grad_output_p)
""",
)

INVALID = (
    Invalid(
        """\
- name: bmm(Tensor self, Tensor mat2) -> Tensor
  self: grad.bmm(mat2.transpose(1, 2).conj())
  mat2: self.transpose(1, 2).conj().bmm(grad)
  result: self_t.bmm(mat2_p.conj()) + self_p.bmm(mat2_t)
""",
        at="4:22-35",
        message='the factor "mat2_p.conj()" is conjugated, but the tangent is not',
        help='remove ".conj()": only gradients are multiplied by the conjugate of the derivative',
        fixed="  result: self_t.bmm(mat2_p) + self_p.bmm(mat2_t)",
    ),
    Invalid(
        """\
- name: div.Scalar(Tensor self, Scalar other) -> Tensor
  self: div_tensor_self_backward(grad, other, self.scalar_type())
  result: self_t / other.conj()
""",
        at="3:20-32",
        message='the factor "other.conj()" is conjugated, but the tangent is not',
        help='remove ".conj()": only gradients are multiplied by the conjugate of the derivative',
        fixed="  result: self_t / other",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the factors of forward formulas that are conjugated."""
    for mistake in analyses_of(model).collect(entry, mistakes):
        if mistake.kind is Mistake.SUPERFLUOUS:
            formula = mistake.interpretation.formula
            yield Finding(
                formula.span_of(mistake.node),
                f"the factor {shown(formula, mistake.node)} is conjugated, but the tangent is not",
                help='remove ".conj()": only gradients are multiplied by the conjugate of the derivative',
                fix=without_conj(formula, mistake.node),
                at=formula.written,
            )
