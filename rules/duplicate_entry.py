"""Two entries are about the same function.

## What it detects
A second entry for a function. Entries for an ``out`` variant count as entries for the functional variant.

## Why it is bad
PyTorch's generator keeps the last one silently; the formulas of the first are lost, including those for other dispatch
keys.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

    - name: abs(Tensor self) -> Tensor
      result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``load_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.schema.versions import spelled

META = RuleMeta(severity=Severity.ERROR, group="schema", checks=("X1",), compares=True)

VALID = (
    """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))

- name: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
""",
    # a back end's file may have an entry for old versions and one for new ones
    """\
all_version: [v2.1, v2.2, v2.3]
backward:
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  version: [v2.1, v2.2]

- name: abs(Tensor self) -> Tensor
  self: self.sgn() * grad
  version: v2.3
""",
)

INVALID = (
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)

- name: mm(Tensor self, Tensor mat2) -> Tensor
  mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
""",
        at="4:9-11",
        message='"mm" already has an entry, which this one replaces',
        help="keep one entry for each function",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()

- name: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  self: grad * self.sgn()
""",
        at="4:9-16",
        message='"abs" already has an entry, which this one for "abs.out" replaces',
        help='remove the entry for "abs.out"; PyTorch never differentiates out variants',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    AutogradNestedTensor:
      self: grad * self.sgn()

- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
        at="6:9-12",
        message='"abs" already has an entry, which this one replaces',
        help='keep one entry, with one key below "dispatch" for each dispatch key',
        also=("missing-default-key",),
    ),
    Invalid(
        """\
all_version: [v2.1, v2.2, v2.3, v2.4]
backward:
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  version: [v2.2, newest]

- name: abs(Tensor self) -> Tensor
  self: self.sgn() * grad
  version: v2.1, v2.3, v2.4
""",
        at="7:9-12",
        message='"abs" already has an entry, which this one for v2.3 to v2.4 replaces',
        help="keep one entry for each function",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the entries after the first for one function."""
    function = entry.function
    first = model.entries_for(function.canonical)[0] if function is not None else entry
    if function is None or first is entry:
        return
    name = str(function.canonical.name)
    by = "this one"
    help_text = "keep one entry for each function"
    if function.declared.schema.is_out:
        out = quoted(str(function.declared.name))
        by += f" for {out}"
        help_text = f"remove the entry for {out}; PyTorch never differentiates out variants"
    elif first.dispatch is not None or entry.dispatch is not None:
        help_text = 'keep one entry, with one key below "dispatch" for each dispatch key'
    is_out = first.function is not None and first.function.declared.schema.is_out
    versions = _shared_versions(model, first, entry)
    if versions is not None:
        by += f" {versions}"
    note = f'this entry for "{first.operator}" is about {quoted(name)} too' if is_out else "the first entry"
    yield Finding(
        entry.name_span,
        f"{quoted(name)} already has an entry, which {by} replaces",
        help=help_text,
        related=(Related(note, first.name_span),),
        at=entry,
    )


def _shared_versions(model: Model, first: Entry, second: Entry) -> str | None:
    """Return the versions to which both entries apply; None in a file without versions."""
    if model.versions is None or first.versions is None or second.versions is None:
        return None
    shared = tuple(name for name in first.versions.names if name in second.versions.names)
    return f"for {spelled(shared, model.versions.names)}" if shared else None
