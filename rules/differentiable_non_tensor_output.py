"""output_differentiability declares a non-tensor output differentiable.

## What it detects
``True`` in ``output_differentiability`` for an output whose type is neither ``Tensor`` nor a list or an optional of
tensors.

## Why it is bad
PyTorch's generator does not check it: the generated code sets a gradient function on the value and counts it among the
``grads[i]`` that formulas see.

## Example
    - name: equal(Tensor self, Tensor other) -> bool
      output_differentiability: [True]

## Instead
    - name: equal(Tensor self, Tensor other) -> bool
      output_differentiability: [False]

## Fix safety
The fix writes ``False``, which follows from the type.

## Sources
torchgen/api/autograd.py, ``gen_differentiable_outputs``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry
from derivlint.yaml_reader import Sequence

META = RuleMeta(severity=Severity.WARNING, group="differentiability", checks=("X5",))

VALID = (
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
)

INVALID = (
    Invalid(
        at="2:30-34",
        message='output "result" of "equal" is of type "bool" and cannot be differentiable',
        fixed="  output_differentiability: [False]",
    ),
    Invalid(
        """\
- name: _local_scalar_dense(Tensor self) -> Scalar
  output_differentiability: [yes]
""",
        at="2:30-33",
        message='output "result" of "_local_scalar_dense" is of type "Scalar" and cannot be differentiable',
        fixed="  output_differentiability: [False]",
    ),
)


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Compare each value that is true with the type of its output."""
    declared, function = entry.output_differentiability, entry.function
    if declared is None or declared.values is None or declared.conditions or function is None:
        return
    if not isinstance(declared.node, Sequence) or len(declared.values) != len(function.outputs):
        return
    for output, value, item in zip(function.outputs, declared.values, declared.node.items, strict=True):
        if value and not output.type.may_be_tensor_like:
            yield Finding(
                entry.place(item),
                f'output {quoted(output.name)} of "{entry.operator}" is of type "{output.type}" '
                "and cannot be differentiable",
                help='write "False"',
                fix=Fix('write "False"', (TextEdit(entry.place(item), "False"),)),
            )
