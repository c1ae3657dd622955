"""An entry has a name and nothing else.

## What it detects
An entry without any formula and without ``output_differentiability``.

## Why it is bad
It declares no derivative: backward through the operator raises "not implemented", just as without the entry. Usually
the formulas were deleted by accident.

## Example
    - name: mm(Tensor self, Tensor mat2) -> Tensor

## Instead
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Entry
from derivlint.yaml_reader import Mapping

META = RuleMeta(severity=Severity.INFO, group="style", checks=("X1",))

VALID = (
    """\
- name: bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
  output_differentiability: [False]
""",
)

INVALID = (
    Invalid(
        at="1:9-11",
        message='the entry for "mm" has no formulas and declares nothing',
        help="write formulas for its arguments, or remove the entry",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  dispatch:
    Default: {}
""",
        at="1:9-12",
        message='the entry for "abs" has no formulas and declares nothing',
    ),
)


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Find entries with only a name."""
    if entry.function is None or entry.problems or entry.formulas or entry.output_differentiability is not None:
        return
    if entry.beside_dispatch or (isinstance(entry.dispatch, Mapping) and not entry.dispatch.pairs):
        return
    yield Finding(
        entry.name_span,
        f'the entry for "{entry.operator}" has no formulas and declares nothing',
        help="write formulas for its arguments, or remove the entry",
    )
