"""``output_differentiability`` is neither a list of booleans nor a list of one C++ condition.

## What it detects
A value that is not a list, a string in place of a list, and a list with several strings or with strings beside
booleans.

## Why it is bad
The list has one boolean for each output, or one string, which is a C++ condition for all of them. PyTorch's generator
iterates over any value and fails with "Not supported" or a TypeError.

## Example
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      output_differentiability: ['True', 'False']

## Instead
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      output_differentiability: [True, False]

## Fix safety
Adding brackets and removing quotes is safe: it keeps the values.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``; torchgen/api/autograd.py,
``gen_differentiable_outputs``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.wording import counted, quoted
from derivlint.model import Entry, FormProblem, Model
from derivlint.model.entry_syntax import FormProblemKind
from derivlint.yaml_reader import Mapping, Scalar, Sequence, YamlNode

META = RuleMeta(severity=Severity.ERROR, group="differentiability", checks=("Y7", "L6"))

SHAPE = "write a list with True or False for each output"

VALID = (
    """\
- name: _fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)
  output_differentiability:
    - True
    - False
  self: _fused_dropout_backward(grad, result1, p)
""",
)

INVALID = (
    Invalid(
        """\
- name: all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
  output_differentiability: true
""",
        at="2:29-33",
        message='output_differentiability is "true", not a list',
        help="write a list with True or False for each output",
        fixed="  output_differentiability: [true]",
    ),
    Invalid(
        """\
- name: any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
  output_differentiability: '[False]'
""",
        at="2:29-38",
        message='output_differentiability is the string "[False]", not a list',
        help="write it without quotes",
        fixed="  output_differentiability: [False]",
    ),
    Invalid(
        """\
- name: _fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)
  output_differentiability: True, False
  self: _fused_dropout_backward(grad, result1, p)
""",
        at="2:29-40",
        message='output_differentiability is the string "True, False", not a list',
        help="write [True, False]",
        fixed="  output_differentiability: [True, False]",
    ),
    Invalid(
        at="2:29-46",
        message="output_differentiability has 2 strings, which are not booleans",
        help="write True and False without quotes",
        fixed="  output_differentiability: [True, False]",
    ),
    Invalid(
        """\
- name: _fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)
  output_differentiability: [True, "self.is_floating_point()"]
  self: _fused_dropout_backward(grad, result1, p)
""",
        at="2:36-62",
        message="output_differentiability has a string among 2 values",
        help="write True or False for each output, or a C++ condition as the only value",
    ),
    Invalid(
        """\
- name: _fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)
  output_differentiability: {0: True, 1: False}
  self: _fused_dropout_backward(grad, result1, p)
""",
        at="2:29-48",
        message="output_differentiability is a mapping, not a list",
        help="write a list with True or False for each output",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find malformed values."""
    for problem in entry.problems:
        if model.is_explained(entry, problem.node):
            continue
        if problem.kind is FormProblemKind.OUTPUT_DIFFERENTIABILITY_TYPE:
            yield _wrong_type(entry, problem)
        elif problem.kind is FormProblemKind.OUTPUT_DIFFERENTIABILITY_STRING:
            yield _string(entry, problem.node)
        elif problem.kind is FormProblemKind.OUTPUT_DIFFERENTIABILITY_MIXED:
            yield _strings(entry, problem.node)


def _wrong_type(entry: Entry, problem: FormProblem) -> Finding:
    node = problem.node
    declared = entry.output_differentiability
    if declared is not None and node is not declared.node:
        kind = "a list" if isinstance(node, Sequence) else "a mapping" if isinstance(node, Mapping) else "no boolean"
        return Finding(entry.place(node), f"a value of output_differentiability is {kind}", help=SHAPE, at=entry)
    if not isinstance(node, Scalar):
        return Finding(entry.place(node), "output_differentiability is a mapping, not a list", help=SHAPE, at=entry)
    fix = None
    if node.kind == "bool" and entry.function is not None and len(entry.function.outputs) == 1:
        fix = Fix("put it in brackets", (TextEdit(entry.place(node), f"[{node.value}]"),))
    if not node.value and declared is not None:
        return Finding(entry.place(declared.key), "output_differentiability is empty", help=SHAPE, at=entry)
    message = f"output_differentiability is {quoted(node.value)}, not a list"
    return Finding(entry.place(node), message, help=SHAPE, fix=fix, at=entry)


def _string(entry: Entry, node: YamlNode) -> Finding:
    assert isinstance(node, Scalar)
    message = f"output_differentiability is the string {quoted(node.value)}, not a list"
    if node.value.startswith("[") and node.value.endswith("]"):
        fix = Fix("remove the quotes", (TextEdit(entry.place(node), node.value),)) if node.value.isprintable() else None
        return Finding(entry.place(node), message, help="write it without quotes", fix=fix, at=entry)
    words = node.value.split(",")
    if all(word.strip().lower() in ("true", "false") for word in words):
        text = ", ".join(word.strip().capitalize() for word in words)
        fix = Fix("put it in brackets", (TextEdit(entry.place(node), f"[{text}]"),))
        return Finding(entry.place(node), message, help=f"write [{text}]", fix=fix, at=entry)
    help_text = SHAPE if not node.value else 'a C++ condition is in a list, as in "[condition]"'
    return Finding(entry.place(node), message, help=help_text, at=entry)


def _strings(entry: Entry, node: YamlNode) -> Finding:
    assert isinstance(node, Sequence)
    strings = [item for item in node.items if isinstance(item, Scalar) and item.kind == "str"]
    if all(item.value.lower() in ("true", "false") for item in strings):
        edits = tuple(TextEdit(entry.place(item), item.value.capitalize()) for item in strings)
        reason = "which are not booleans" if len(strings) > 1 else "which is not a boolean"
        message = f"output_differentiability has {counted(len(strings), 'string')}, {reason}"
        fix = Fix("remove the quotes", edits)
        return Finding(entry.place(node), message, help="write True and False without quotes", fix=fix, at=entry)
    help_text = "write True or False for each output, or a C++ condition as the only value"
    if len(strings) == len(node.items):
        message = f"output_differentiability has {counted(len(strings), 'string')}, but a C++ condition is alone"
        return Finding(entry.place(node), message, help=help_text, at=entry)
    where = entry.place(strings[0])
    message = f"output_differentiability has a string among {len(node.items)} values"
    return Finding(where, message, help=help_text, at=entry)
