"""``dispatch`` has no dispatch keys.

## What it detects
``dispatch: {}``.

## Why it is bad
PyTorch's generator accepts it, and the entry then has no formulas for anything.

## Example
    - name: bmm(Tensor self, Tensor mat2) -> Tensor
      dispatch: {}

## Instead
Leave ``dispatch`` out and write the formulas below the name, or write ``Default`` and its formulas below ``dispatch``.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Entry, Model
from derivlint.yaml_reader import Mapping

META = RuleMeta(severity=Severity.WARNING, group="dispatch", checks=("X1",))

VALID = (
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  dispatch:
    Default:
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
    # foreach functions need the entry: an error, reported by another rule
    """\
- name: abs(Tensor self) -> Tensor
  dispatch: {}
""",
)

INVALID = (
    Invalid(
        at="2:3-15",
        message='"dispatch" is empty, so the entry has no formulas',
        help='write the formulas below "Default", or without "dispatch"',
    ),
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  dispatch: {}
  output_differentiability: [True, False]
""",
        at="2:3-15",
        message='"dispatch" is empty, so the entry has no formulas',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find empty mappings that cause no error."""
    dispatch, key = entry.dispatch, entry.dispatch_key_node
    # formulas beside it are reported as ignored
    if not isinstance(dispatch, Mapping) or dispatch.pairs or key is None or entry.beside_dispatch:
        return
    if not model.served_without_default(entry):
        where = entry.place(key).cover(entry.place(dispatch))
        help_text = 'write the formulas below "Default", or without "dispatch"'
        yield Finding(where, '"dispatch" is empty, so the entry has no formulas', help=help_text, at=entry)
