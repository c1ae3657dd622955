"""An operator with an argument called ``grad_input_mask`` or ``result`` cannot have an entry.

## What it detects

An entry for an operator that has such an argument.

## Why it is bad

In formulas, ``grad_input_mask`` says which gradients are needed and ``result`` is the output. PyTorch's generator
rejects the entry, because an argument of that name would shadow them.

## Example

    - name: scaled_backward(Tensor grad_output, Tensor self, bool[2] grad_input_mask) -> (Tensor, Tensor)
      grad_output, self: scaled_double_backward(grads[0], grads[1], self)

## Instead

Name the argument otherwise in native_functions.yaml, such as ``output_mask``.

## Sources

torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Entry

META = RuleMeta(severity=Severity.ERROR, group="schema", checks=("L4", "L5"))

#: What each name means in formulas.
RESERVED = {"grad_input_mask": "the mask of gradients", "result": "the output"}

NATIVES = """\
- func: scaled_backward(Tensor grad_output, Tensor self, bool[2] grad_input_mask) -> (Tensor, Tensor)
  dispatch:
    CPU: scaled_backward
- func: refine(Tensor self, Tensor result) -> Tensor
  dispatch:
    CPU: refine
"""

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
)

INVALID = (
    Invalid(
        """\
- name: scaled_backward(Tensor grad_output, Tensor self, bool[2] grad_input_mask) -> (Tensor, Tensor)
  grad_output, self: scaled_double_backward(grads[0], grads[1], self)
""",
        at="1:66-81",
        message='"scaled_backward" has an argument "grad_input_mask", which is the mask of gradients in formulas',
        help="give the argument another name in native_functions.yaml",
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: refine(Tensor self, Tensor result) -> Tensor
  self: refine_backward(grad, self)
""",
        at="1:36-42",
        message='"refine" has an argument "result", which is the output in formulas',
        help="give the argument another name in native_functions.yaml",
        natives=NATIVES,
    ),
)


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Look for the two names among the arguments."""
    if entry.function is None or entry.name is None:
        return
    declared = entry.function.declared.schema
    for name, analyses in RESERVED.items():
        if entry.function.schema.arguments.by_name(name) is None:
            continue
        where = entry.name_span
        argument = declared.arguments.by_name(name)
        if argument is not None and argument.name_span is not None and declared.text == entry.name.value:
            where = entry.place_in(entry.name, *argument.name_span)
        message = f'"{entry.operator}" has an argument "{name}", which is {analyses} in formulas'
        yield Finding(where, message, help="give the argument another name in native_functions.yaml")
        return
