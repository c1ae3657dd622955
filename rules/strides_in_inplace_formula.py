"""A formula uses the strides of an argument that is modified in place.

## What it detects
``self.sym_strides()`` in the backward formula of ``self``, where the formula also serves an in-place operator.

## Why it is bad
Saving strides is not supported for an argument that the operator overwrites. PyTorch's generator fails with an
assertion at the in-place operator, which the entry does not even mention.

## Example
    - name: digamma(Tensor self) -> Tensor
      self: f(grad, self.sym_strides())

## Instead
Use what the formula needs without strides; ``digamma_`` shares the formula of ``digamma``.

## Sources
torchgen/api/autograd.py, ``match_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.generated.forward import MatchProblemKind

META = RuleMeta(
    severity=Severity.ERROR,
    group="saving",
    checks=("M3",),
    yields_to=(SupersededBy(("mismatched-argument",), "sizes are meant"),),
)

VALID = (
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
    """\
- name: digamma(Tensor self) -> Tensor
  self: grad * polygamma(1, self)
""",
)

INVALID = (
    Invalid(
        at="2:17-21",
        message='the strides of "self" cannot be used: the formula also serves "digamma_", which overwrites "self"',
    ),
    Invalid(
        """\
- name: random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
  self: f(grad.sym_strides(), self.sym_strides())
""",
        at="2:31-35",
        message='the strides of "self" cannot be used: "random_" overwrites "self"',
        also=("unused-gradient",),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the strides that formulas of in-place operators use."""
    for match in model.functions_of(entry):
        problem = next((item for item in match.problems if item.kind is MatchProblemKind.STRIDES_OF_SELF), None)
        if problem is None:
            continue
        inplace = str(problem.function.name)
        for derivative in problem.info.derivatives:
            formula = derivative.written
            # another rule reports strides of anything else
            if formula is not None and derivative.strides_of and derivative.var_names == ("self",):
                word = next((word for name, word in derivative.strides_of if name == "self"), None)
                if word is not None:
                    own = inplace == entry.operator
                    why = "" if own else "the formula also serves "
                    yield Finding(
                        formula.span_of(word),
                        f'the strides of "self" cannot be used: {why}{quoted(inplace)}'
                        f'{"" if own else ", which"} overwrites "self"',
                        help="write a formula without strides, or save what the formula needs in an output",
                        at=formula,
                    )
        break
