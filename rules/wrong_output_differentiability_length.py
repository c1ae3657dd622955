"""output_differentiability does not have one value for each output.

## What it detects
A list with more or fewer values than the operator, or a variant that the entry also serves, has outputs.

## Why it is bad
The values correspond to the outputs one to one. PyTorch's generator rejects any other number.

## Example
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      output_differentiability: [True, False]

## Instead
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      output_differentiability: [True]

## Sources
torchgen/api/autograd.py, ``gen_differentiable_outputs``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import counted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="differentiability", checks=("G5",))

VALID = (
    """\
- name: bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
  output_differentiability: [False]
""",
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
)

INVALID = (
    Invalid(
        at="2:29-42",
        message='output_differentiability has 2 values, but "mm" has 1 output',
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
        at="2:29-35",
        message='output_differentiability has 1 value, but "max.dim" has 2 outputs',
    ),
    Invalid(
        """\
- name: trunc(Tensor self) -> Tensor
  output_differentiability: [True]
  self: zeros_like(grad)
""",
        at="2:29-35",
        message='output_differentiability has 1 value, but "_foreach_trunc_", which the entry serves, has no output',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the first function of each entry whose number of outputs differs from the list's."""
    declared = entry.output_differentiability
    if declared is None or declared.values is None or entry.function is None:
        return
    values = counted(len(declared.values), "value")
    for differentiability in model.differentiabilities(entry):
        # another rule reports formulas beside switched off outputs
        if differentiability.is_ignored:
            return
        if differentiability.outputs is not None or not differentiability.is_generated:
            continue
        function = differentiability.function
        number = len(differentiability.returns)
        outputs = counted(number, "output") if number else "no output"
        if function is entry.function.canonical:
            message = f'output_differentiability has {values}, but "{function.name}" has {outputs}'
            help_text = "give one value for each output"
        else:
            message = (
                f'output_differentiability has {values}, but "{function.name}", which the entry serves, has {outputs}'
            )
            help_text = "remove output_differentiability if every output is differentiable"
        yield Finding(entry.place(declared.node), message, help=help_text, at=entry)
        return
