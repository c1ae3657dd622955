"""auto_element_wise is used for an operator that is not elementwise.

## What it detects
"auto_element_wise" in an entry whose backward formula is "not_implemented", mixes or moves elements (a sum, a matrix
product, a helper with a parameter such as "dim"), or uses a function that is not holomorphic ("abs", "sgn", "angle")
although the operator is on PyTorch's complex list.

## Why it is bad
"auto_element_wise" derives the forward formula from the backward formula: it substitutes the tangent for the gradient,
conjugated before and after. That is right where the Jacobian is diagonal and the function holomorphic; elsewhere
forward-mode gradients are silently wrong.

## Example
    - name: cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)
      self: cummaxmin_backward(grad, self, indices, dim)
      values: auto_element_wise

## Instead
    - name: cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)
      self: cummaxmin_backward(grad, self, indices, dim)
      values: self_t.gather(dim, indices)

## What it cannot see
Helpers whose parameters have other names, and shape changes that are not visible from a function's name.

## Sources
torchgen/packaged/autograd/load_derivatives.py, "postprocess_forward_derivatives".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.automatic import AutomaticReason, wrong_automatic
from derivlint.lint import AnalysisDepth, Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED, WRONG_DEGREE
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import shown
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING, group="tangents", yields_to=(UNCOMPILED, WRONG_DEGREE), reads=AnalysisDepth.SEMANTICS
)

VALID = (
    """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: auto_element_wise
""",
    """\
- name: logit(Tensor self, float? eps=None) -> Tensor
  self: GradMode::is_enabled() ? infinitely_differentiable_logit_backward(grad, self, eps) : logit_backward(grad, \
self, eps)
  result: auto_element_wise
""",
)

INVALID = (
    Invalid(
        at="3:11-28",
        message=(
            '"cummaxmin_backward" in the backward formula "cummaxmin_backward(grad, self, indices, dim)" is not '
            "element-wise"
        ),
        help="write out the forward formula",
    ),
    Invalid(
        """\
- name: chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
  self: not_implemented("chunk")
  result: auto_element_wise
""",
        at="3:11-28",
        message='the backward formula "not_implemented("chunk")" is not implemented',
        help="write out the forward formula",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * at::special_airy_ai(self.sgn())
  result: auto_element_wise
""",
        at="3:11-28",
        message='"sgn" in the backward formula "grad * at::special_airy_ai(self.sgn())" is not holomorphic',
        help="write out the forward formula",
    ),
)

REASONS = {
    AutomaticReason.NOT_IMPLEMENTED: "is not implemented",
    AutomaticReason.NOT_ELEMENT_WISE: "is not element-wise",
    AutomaticReason.NOT_HOLOMORPHIC: "is not holomorphic",
}


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the operators that are not element-wise according to their backward formulas."""
    analyses = analyses_of(model)
    for body in entry.bodies:
        for wrong in wrong_automatic(analyses, body):
            if wrong.reason in REASONS:
                formula = wrong.interpretation.formula
                where = formula.written.value_span if wrong.node is None else formula.span_of(wrong.node)
                whole = f"the backward formula {shown(formula, formula.tree)}"
                part = f"{quoted(wrong.name)} in {whole}"
                subject = whole if wrong.reason is AutomaticReason.NOT_IMPLEMENTED else part
                yield Finding(
                    wrong.written.value_span,
                    f"{subject} {REASONS[wrong.reason]}",
                    help="write out the forward formula",
                    related=(Related("the backward formula", where),),
                    at=wrong.written,
                    rests_on=(body.entry.operator or "",),
                )
