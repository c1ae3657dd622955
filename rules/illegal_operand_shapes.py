"""The operands of an operator have incompatible sizes.

## What it detects
A call or an operator in a formula that raises for the sizes of its operands: matrices that cannot be multiplied,
tensors that do not broadcast, a dimension that does not exist, sizes that a tensor cannot be viewed as. The formula is
evaluated over the sizes of tensors only, for a few arguments that the operator takes, with a different prime for the
size of each dimension.

## Why it is bad
The formula raises whenever it runs. Where sizes happen to agree, the result is wrong.

## Example
    - name: mv(Tensor self, Tensor vec) -> Tensor
      self: grad.ger(vec.conj())
      vec: self.conj().mv(grad)

## Instead
    - name: mv(Tensor self, Tensor vec) -> Tensor
      self: grad.ger(vec.conj())
      vec: self.conj().t().mv(grad)

## What it cannot see
Operators and helpers whose sizes are not known or depend on values, and branches that the arguments do not take.

## Sources
The checks that PyTorch's kernels make of their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.interpretation.callee import callee_name
from derivlint.analysis.shapes.compare import ShapeProblem, wrong_shapes_of
from derivlint.formula import Binary, Call, Expr
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_SIZES
from derivlint.lint.judging import judges
from derivlint.lint.shared.shape_wording import given
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="shapes", yields_to=WRONG_SIZES, reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: bmm(Tensor self, Tensor mat2) -> Tensor
  self: grad.bmm(mat2.transpose(1, 2).conj())
  mat2: self.transpose(1, 2).conj().bmm(grad)
""",
)

INVALID = (
    Invalid(
        at="3:8-28",
        message='operands of "mv" do not match: [2, 3] and [2] cannot be multiplied at self.sizes() = [2, 3]',
        help="transpose, unsqueeze or expand an operand, or use another argument",
    ),
    Invalid(
        """\
- name: std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
  self: grad * (self - self.mean(dim, keepdim)) / result
""",
        at="2:17-47",
        message=(
            'operands of "-" do not match: [3, 2, 5] and [3, 5] do not broadcast at self.sizes() = [3, 2, 5], '
            "dim = {1}, keepdim = false"
        ),
        help="transpose, unsqueeze or expand an operand, or use another argument",
    ),
    Invalid(
        """\
- name: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
  self: select_backward_symint(grad, self.sym_sizes(), self.dim() - 1, index)
""",
        at="2:9-78",
        message=(
            'operands of "select_backward_symint" do not match: [2, 5] is not [2, 3] at self.sizes() = [2, 3, 5], '
            "dim = 1, index = 0"
        ),
        help="transpose, unsqueeze or expand an operand, or use another argument",
    ),
)


def _of(place: Expr) -> str:
    name = place.op if isinstance(place, Binary) else callee_name(place) if isinstance(place, Call) else None
    return "" if name is None else f" of {quoted(name)}"


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the operands whose sizes do not fit."""
    for wrong in wrong_shapes_of(model, entry, ShapeProblem.OPERANDS):
        place = wrong.place or wrong.formula.tree
        yield Finding(
            wrong.formula.span_of(place),
            f"operands{_of(place)} do not match: {wrong.reason}{given(wrong.formula, wrong.name, wrong.at)}",
            help="transpose, unsqueeze or expand an operand, or use another argument",
            at=wrong.formula.written,
        )
