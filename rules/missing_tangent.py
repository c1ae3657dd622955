"""The output tangent does not depend on the tangent of a differentiable input.

## What it detects
An operator with forward formulas for all differentiable outputs, but none uses the tangent of some differentiable
input, although that input has a backward formula that is neither zero nor "not_implemented".

## Why it is bad
According to the backward formula, the output depends on the input. The tangent lacks that term of the product rule, so
forward-mode gradients are wrong.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: self_t * other_p

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: other_t * self_p + self_t * other_p

## What it cannot see
A missing term if the tangent occurs in another term, and inputs that are lists of tensors.

## Sources
torchgen/packaged/autograd/load_derivatives.py, "find_required_inputs".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.missing import missing_tangents
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED, WRONG_DEGREE
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.generated.forward import TANGENT

META = RuleMeta(
    severity=Severity.WARNING,
    group="tangents",
    yields_to=(UNCOMPILED, WRONG_DEGREE),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor
  grad_out: hardshrink_backward(grad, self, lambd)
  self: zeros_like(grad)
  result: at::where((self_p > lambd).logical_or(self_p < -lambd), grad_out_t, at::zeros({}, \
result.options()).expand_as(result))
""",
)

INVALID = (
    Invalid(
        at="4:11-27",
        message='the formula does not use "other_t", although "other" has a gradient',
        help='add the term with "other_t"',
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
  mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
  result: at::mm(self_p, mat2_t)
""",
        at="4:11-33",
        message='the formula does not use "self_t", although "self" has a gradient',
        help='add the term with "self_t"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the inputs whose tangents do not affect any output."""
    analyses = analyses_of(model)
    for body in entry.bodies:
        for formula, name in missing_tangents(analyses, body):
            yield Finding(
                formula.value_span,
                f"the formula does not use {quoted(name + TANGENT)}, although {quoted(name)} has a gradient",
                help=f"add the term with {quoted(name + TANGENT)}",
                at=formula,
                rests_on=(body.entry.operator or "",),
            )
