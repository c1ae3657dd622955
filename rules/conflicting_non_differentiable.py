"""An argument has a formula and is also declared non_differentiable.

## What it detects
An argument that occurs in a backward key and in a key whose value is ``non_differentiable``.

## Why it is bad
The two contradict each other. PyTorch's generator rejects the entry.

## Example
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: atan2_backward(grad, self, other, grad_input_mask)
      other: non_differentiable

## Instead
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: atan2_backward(grad, self, other, grad_input_mask)

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``set_up_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula, DispatchBody, Role

META = RuleMeta(severity=Severity.ERROR, group="differentiability", checks=("L12",))

VALID = (
    """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: non_differentiable
  result: self_t.masked_fill(mask, 0)
""",
    # the formulas of two dispatch keys are independent of each other
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  dispatch:
    Default:
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
      mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
    AutogradNestedTensor:
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
      mat2: non_differentiable
""",
)

INVALID = (
    Invalid(
        at="3:3-8",
        message='"other" is declared non_differentiable but has a formula under the key "self, other"',
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  mat2, self: non_differentiable
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
        at="2:9-13",
        message='"self" is declared non_differentiable but has a formula under the key "self"',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self: grad * other / (self * self + other * other)
  other: grad * -self / (self * self + other * other)
  self, other: non_differentiable
""",
        at="4:3-7",
        message='"self" and "other" are declared non_differentiable but have formulas',
    ),
)


@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Find the declarations that contradict a formula, one finding per declaration."""
    formulas: dict[str, DerivativeFormula] = {}
    for formula in body.with_role(Role.BACKWARD):
        for name, resolved in formula.resolved_names:
            if resolved.argument is not None and resolved.argument.is_tensor_like:
                formulas.setdefault(name.text, formula)
    for formula in body.with_role(Role.NON_DIFFERENTIABLE):
        names = [name for name in formula.names if name.text in formulas]
        texts = list(dict.fromkeys(name.text for name in names))
        if not texts:
            continue
        message = f"{quoted_list(texts)} are declared non_differentiable but have formulas"
        if len(texts) == 1:
            key = formulas[texts[0]].key_text
            message = f"{quoted(texts[0])} is declared non_differentiable but has a formula under the key {quoted(key)}"
        related = tuple(Related(f"the formula for {quoted(text)}", formulas[text].key_span) for text in texts)
        yield Finding(formula.name_span(names[0]), message, help="remove one of the two", related=related, at=formula)
