"""A tangent does not have the sizes of its output.

## What it detects
A forward formula whose value does not have the sizes of its output: it does not reduce where the operator does, or does
not broadcast. The formula is evaluated over the sizes of tensors only, for a few arguments that the operator takes,
with a different prime for the size of each dimension.

## Why it is bad
PyTorch rejects a tangent of a different size, so forward-mode derivatives of the operator raise. Where sizes happen to
agree, the tangent is silently wrong.

## Example
    - name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
      self: sum_backward(grad, self.sym_sizes(), dim, keepdim)
      result: self_t.sum(dim, !keepdim)

## Instead
    - name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
      self: sum_backward(grad, self.sym_sizes(), dim, keepdim)
      result: self_t.sum(dim, keepdim)

## What it cannot see
Operators and helpers whose sizes are not known or depend on values, and formulas that call them.

## Sources
AutogradMeta::set_fw_grad in torch/csrc/autograd/autograd_meta.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.shapes.compare import ShapeProblem
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_SIZES
from derivlint.lint.judging import judges
from derivlint.lint.shared.shape_wording import size_findings
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="shapes", yields_to=WRONG_SIZES, reads=AnalysisDepth.SEMANTICS)


VALID = (
    """\
- name: mv(Tensor self, Tensor vec) -> Tensor
  self: grad.ger(vec.conj())
  vec: self.conj().t().mv(grad)
  result: mv(self_t, vec_p) + mv(self_p, vec_t)
""",
)

INVALID = (
    Invalid(
        at="3:11-36",
        message=(
            'the tangent of "result" has sizes [3, 1, 5], but "result" has [3, 5] at self.sizes() = [3, 2, 5], dim = '
            "{1}, keepdim = false"
        ),
        help="a tangent has the sizes of its output",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: grad.mm(mat2.t().conj())
  mat2: self.t().conj().mm(grad)
  result: (at::mm(self_t, mat2_p) + at::mm(self_p, mat2_t)).t()
""",
        at="4:11-64",
        message=(
            'the tangent of "result" has sizes [5, 2], but "result" has [2, 5] at '
            "self.sizes() = [2, 3], mat2.sizes() = [3, 5]"
        ),
        help="a tangent has the sizes of its output",
    ),
    Invalid(
        """\
- name: mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
  self: grad.expand_symint(self.sym_sizes()) / self.sym_numel()
  result: auto_element_wise
""",
        at="3:11-28",
        message='the tangent of "result" has sizes [3, 2, 5], but "result" has [] at self.sizes() = [3, 2, 5]',
        help="a tangent has the sizes of its output",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas whose sizes are not those of their outputs."""
    return size_findings(entry, model, ShapeProblem.TANGENT)
