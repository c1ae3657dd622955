"""An entry names an ``out`` variant, but applies to another function.

## What it detects
An entry whose schema is that of an ``out`` variant.

## Why it is bad
PyTorch never differentiates ``out`` variants. Its generator silently takes the functional, mutable or in-place function
of the same signature instead, so the entry applies to a function that it does not name, and replaces the entry of that
function, if there is one.

## Example
    - name: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      self: grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Fix safety
The fix writes the schema that PyTorch's generator uses. It is unsafe, because another function may have been meant.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``canonical_function``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import schema_fix
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.WARNING, group="registration", checks=("X1",))

VALID = (
    # the second entry replaces the first, which is another finding
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()

- name: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  self: grad * self.sgn()
""",
)

INVALID = (
    Invalid(
        at="1:9-16",
        message='"abs.out" is an out variant, so its entry applies to "abs"',
        help='write "abs(Tensor self) -> Tensor"',
        fixed="- name: abs(Tensor self) -> Tensor",
    ),
    Invalid(
        """\
- name: mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
        at="1:9-15",
        message='"mm.out" is an out variant, so its entry applies to "mm"',
        help='write "mm(Tensor self, Tensor mat2) -> Tensor"',
        fixed="- name: mm(Tensor self, Tensor mat2) -> Tensor",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Compare the function that each entry names with the one that it applies to."""
    function = entry.function
    if function is None or not function.declared.schema.is_out:
        return
    if len(model.entries_for(function.canonical)) > 1:
        return
    schema = str(function.schema)
    canonical = quoted(str(function.canonical.name))
    yield Finding(
        entry.name_span,
        f'"{function.declared.name}" is an out variant, so its entry applies to {canonical}',
        help=f"write {quoted(schema)}",
        fix=schema_fix(entry, schema),
        at=entry,
    )
