"""The name of an entry is not an operator schema.

## What it detects
A ``name`` that is not valid in the grammar of operator schemas: without argument list, with a namespace, with a bracket
that is never closed, an argument without a type, a missing return and the like.

## Why it is bad
PyTorch's generator looks the schema up in native_functions.yaml, where all schemas are well-formed. It finds no
match for a malformed one, and the build stops.

## Example
    - name: abs
      self: grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Sources
torchgen/model.py, ``FunctionSchema.parse``; torchgen/utils.py, ``split_name_params``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Entry

META = RuleMeta(severity=Severity.ERROR, group="schema", checks=("L1", "L2"))

VALID = (
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
)

INVALID = (
    Invalid(
        """\
- name: abs(Tensor self)
  self: grad * self.sgn()
""",
        at="1:25-25",
        message="the schema has no returns",
        help='end it with "-> Tensor", or with "-> ()" for none',
    ),
    Invalid(
        """\
- name: aten::abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
        at="1:9-15",
        message='"aten::" is a namespace, which a schema does not have',
        help='remove "aten::"',
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
""",
        at="1:33-38",
        message='argument "other" needs a type and a name',
        help='write "Tensor other"',
    ),
    Invalid(
        """\
- name: "mm(Tensor self, Tensor mat2 -> Tensor"
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
        at="1:38-40",
        message='expected "=", "," or ")", found "->"',
    ),
)


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Report the problem of the schema's parser, at its place in the file."""
    problem = entry.schema_problem
    if problem is not None and problem.mistake is not None and entry.name is not None:
        mistake = problem.mistake
        where = entry.place_in(entry.name, mistake.start, mistake.end)
        yield Finding(where, mistake.message, help=mistake.help, at=entry)
