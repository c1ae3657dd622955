"""A key names the same argument or output twice.

## What it detects
A name that occurs more than once in one key, such as ``self, self``.

## Why it is bad
The names of a key stand for the gradients or tangents that the formula returns, one each and in order. PyTorch's
generator silently counts a repeated name twice, or overwrites its gradient with the next one.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self, self: mul_tensor_backward(grad, other, self.scalar_type())

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())

## Fix safety
The fix removes the repetitions. It is unsafe, as another name may have been meant.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``split_names``; gen_autograd_functions.py, ``process_function``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Role

META = RuleMeta(severity=Severity.ERROR, group="keys", checks=("X4",))

VALID = (
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
  mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
""",
)

INVALID = (
    Invalid(
        at="2:9-13",
        message='"self" occurs twice in the key "self, self"',
        fixed="  self: mul_tensor_backward(grad, other, self.scalar_type())",
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  "self, other, self": atan2_backward(grad, self, other, grad_input_mask)
""",
        at="2:17-21",
        message='"self" occurs twice in the key "self, other, self"',
        fixed='  "self, other": atan2_backward(grad, self, other, grad_input_mask)',
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find the second occurrence of each repeated name."""
    if formula.role not in (Role.BACKWARD, Role.FORWARD) or len(formula.names) < 2:
        return
    names = [name.text for name in formula.names]
    # formula-for-non-tensor reports arguments that can have no formula
    refused = {
        name.text
        for name, resolved in formula.resolved_names
        if resolved.argument is not None and not resolved.argument.is_tensor_like
    }
    fix = None
    text = formula.key_written_with([name for name in dict.fromkeys(names) if name])
    if text is not None:
        fix = Fix("remove the repetition", (TextEdit(formula.key_span, text),), safe=False)
    for position, name in enumerate(formula.names):
        if name.text and name.text not in refused and names[:position].count(name.text) == 1:
            yield Finding(
                formula.name_span(name),
                f"{quoted(name.text)} occurs twice in the key {quoted(formula.key_text)}",
                help="name every argument or output once",
                fix=fix,
            )
