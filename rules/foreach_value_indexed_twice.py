"""The foreach variant of a formula indexes an argument twice.

## What it detects
The reference formula of a foreach operator that uses both a property of an argument and the argument itself, in an
order in which PyTorch's replacements overlap: ``f(tensor2.scalar_type(), tensor2)``.

## Why it is bad
PyTorch derives the formulas of ``_foreach_addcdiv`` from those of ``addcdiv`` by text replacement: first
``tensor2_scalar_type`` by ``tensor2[i].scalar_type()``, then ``tensor2`` by ``tensor2[i]``, including what the first
step wrote. The result, ``tensor2[i][i].scalar_type()``, compiles. It reads the ``i``-th row of the ``i``-th tensor, and
the backward pass throws an ``IndexError`` for a tensor without dimensions or with too few rows.

## Example
    - name: addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
      tensor2: handle_r_to_c(tensor2.scalar_type(), -grad * (value * tensor1 / (tensor2 * tensor2)).conj())

## Instead
Call a function that takes the argument as a whole and reads its property there.

## Sources
torchgen/api/autograd.py, ``gen_foreach_derivativeinfo``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import rewrite_findings
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.generated.foreach import ForeachProblem
from derivlint.model.generated.forward import MatchProblemKind

META = RuleMeta(severity=Severity.ERROR, group="foreach", checks=("X7",), yields_to=(WRONG_VALUE,))

VALID = (
    """\
- name: addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  tensor2: f(grad, value, tensor1, tensor2)
""",
    """\
- name: abs(Tensor self) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
""",
)

INVALID = (
    Invalid(
        at="2:26-33",
        message='"_foreach_addcdiv.Scalar" shares this formula, in which "tensor2" becomes "tensor2[i][i]"',
        help='use "tensor2" as a whole, in a function that reads its property',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad * self.sgn())
""",
        at="2:23-27",
        message='"_foreach_abs" shares this formula, in which "self" becomes "self[i][i]"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the arguments in reference formulas of foreach operators."""
    return rewrite_findings(entry, model, MatchProblemKind.INDEXED_TWICE, _cure)


def _cure(problem: ForeachProblem) -> str:
    return f"use {quoted(problem.name)} as a whole, in a function that reads its property"
