"""``output_differentiability`` has a value that is not a boolean.

## What it detects
Numbers and empty values in the list, and a value in place of the list that is empty or false.

## Why it is bad
PyTorch's generator tests the truthiness of a value in Python, so ``0`` and an empty value switch an output off. In
place of the whole list, ``false`` or an empty value means that ``output_differentiability`` is not given, and all
outputs stay differentiable.

## Example
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      output_differentiability: [1, 0]

## Instead
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      output_differentiability: [True, False]

## Fix safety
Replacing a value by its truthiness is safe. Putting brackets around a value that was ignored is unsafe: it then takes
effect.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``load_derivatives``; torchgen/api/autograd.py,
``gen_differentiable_outputs``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.entry_syntax import FormProblemKind
from derivlint.yaml_reader import Scalar, Sequence, YamlNode

META = RuleMeta(severity=Severity.WARNING, group="differentiability", checks=("X5",))

VALID = (
    """\
- name: bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
  output_differentiability: [no]
""",
)

INVALID = (
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, 0]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
        at="2:36-37",
        message='the value "0" of output_differentiability counts as False',
        help="write False",
        fixed="  output_differentiability: [True, False]",
    ),
    Invalid(
        """\
- name: bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
  output_differentiability: false
""",
        at="2:29-34",
        message='output_differentiability is "false", which counts as not given',
        help="write [False] to make the output non-differentiable, or remove the key",
        fixed="  output_differentiability: [False]",
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: []
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
        at="2:29-31",
        message="output_differentiability is an empty list, which counts as not given",
        help="write True or False for each output, or remove the key",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find values that torchgen reads in an unexpected way."""
    for problem in entry.problems:
        if model.is_explained(entry, problem.node):
            continue
        if problem.kind is FormProblemKind.OUTPUT_DIFFERENTIABILITY_VALUE:
            yield _value(entry, problem.node)
        elif problem.kind is FormProblemKind.OUTPUT_DIFFERENTIABILITY_IGNORED:
            yield _ignored(entry, problem.node)


def _value(entry: Entry, node: YamlNode) -> Finding:
    declared = entry.output_differentiability
    assert declared is not None
    # a list with numbers or empty items has values: only strings and collections make them None
    index = declared.node.items.index(node) if isinstance(declared.node, Sequence) else 0
    word = str(declared.values is not None and declared.values[index])
    if not isinstance(node, Scalar) or not node.value:
        message = f"an empty value of output_differentiability counts as {word}"
        return Finding(entry.place(declared.node), message, help=f"write {word}", at=entry)
    fix = Fix(f"write {word}", (TextEdit(entry.place(node), word),))
    message = f"the value {quoted(node.value)} of output_differentiability counts as {word}"
    return Finding(entry.place(node), message, help=f"write {word}", fix=fix, at=entry)


def _ignored(entry: Entry, node: YamlNode) -> Finding:
    declared = entry.output_differentiability
    assert declared is not None
    help_text = "write True or False for each output, or remove the key"
    if isinstance(node, Sequence):
        message = "output_differentiability is an empty list, which counts as not given"
        return Finding(entry.place(node), message, help=help_text, at=entry)
    if not isinstance(node, Scalar) or not node.value:
        message = "output_differentiability is empty, which counts as not given"
        return Finding(entry.place(declared.key), message, help=help_text, at=entry)
    fix = None
    if node.kind == "bool" and entry.function is not None and len(entry.function.outputs) == 1:
        help_text = "write [False] to make the output non-differentiable, or remove the key"
        fix = Fix("put it in brackets", (TextEdit(entry.place(node), "[False]"),), safe=False)
    message = f"output_differentiability is {quoted(node.value)}, which counts as not given"
    return Finding(entry.place(node), message, help=help_text, fix=fix, at=entry)
