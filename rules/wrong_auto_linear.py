"""auto_linear is used for an operator that is not linear.

## What it detects
"auto_linear" in an entry with a backward formula that depends on the value of a differentiable input whose gradient is
not zero, or on an output; and for an operator that draws numbers.

## Why it is bad
The Jacobian of a linear function is the same everywhere. "auto_linear" calls the operator with the tangents in place of
the inputs, which is the derivative only in that case. For any other operator, forward-mode gradients are silently
wrong.

## Example
    - name: special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor
      other: grad * -self.toDouble() * special_zeta(self.toDouble() + 1., other)
      result: auto_linear

## Instead
    - name: special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor
      other: grad * -self.toDouble() * special_zeta(self.toDouble() + 1., other)
      result: auto_element_wise

## What it cannot see
Inputs that are passed to a helper, which may use only their sizes; an output passed to a helper counts as used. An
"auto_linear" that multiplies two tangents, or whose operator is known to be nonlinear, is reported by
nonlinear-tangent.

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
- name: reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor
  self: reflection_pad1d_backward_symint(grad, self, padding)
  result: auto_linear
""",
)

INVALID = (
    Invalid(
        at="3:11-22",
        message=(
            '"special_zeta.self_scalar" is not linear: its backward formula '
            '"grad * -self.toDouble() * special_zeta(s ..." depends on "other"'
        ),
        help='write out the forward formula, or use "auto_element_wise" for an element-wise operator',
    ),
    Invalid(
        """\
- name: special_airy_ai(Tensor x) -> Tensor
  x: grad * result
  result: auto_linear
""",
        at="3:11-22",
        message='"special_airy_ai" is not linear: its backward formula "grad * result" depends on "result"',
        help='write out the forward formula, or use "auto_element_wise" for an element-wise operator',
    ),
    Invalid(
        """\
- name: bernoulli(Tensor self, *, Generator? generator=None) -> Tensor
  self: zeros_like(grad)
  result: auto_linear
""",
        at="3:11-22",
        message='"bernoulli" is not linear: it draws other numbers with every call',
        help='write out the forward formula, or use "auto_element_wise" for an element-wise operator',
    ),
)

REASONS = (AutomaticReason.READS_VALUE, AutomaticReason.READS_RESULT, AutomaticReason.DRAWS)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find ``auto_linear`` on operators that are not linear, or draw random numbers."""
    analyses = analyses_of(model)
    for body in entry.bodies:
        for wrong in wrong_automatic(analyses, body):
            if wrong.reason in REASONS:
                formula = wrong.interpretation.formula
                reason = f"its backward formula {shown(formula, formula.tree)} depends on {quoted(wrong.name)}"
                if wrong.reason is AutomaticReason.DRAWS:
                    reason = "it draws other numbers with every call"
                yield Finding(
                    wrong.written.value_span,
                    f"{quoted(body.entry.operator or '')} is not linear: {reason}",
                    help='write out the forward formula, or use "auto_element_wise" for an element-wise operator',
                    related=(Related("the backward formula", formula.written.value_span),),
                    at=wrong.written,
                    rests_on=(body.entry.operator or "",),
                )
