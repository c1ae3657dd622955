"""A forward formula does not depend on a tangent.

## What it detects
A nonzero forward formula that mentions a tangent but whose value does not depend on one: it uses only the sizes or the
type of a tangent, or multiplies it by zero.

## Why it is bad
A forward formula multiplies the tangents of the inputs by a Jacobian. Without them, the output has a tangent even when
no input has one.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      result: self_p.sgn().expand_as(self_t)

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      result: self_p.sgn() * self_t

## What it cannot see
Helpers: whatever they are passed counts as used.

## Sources
Head of derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.linearity import without_seed
from derivlint.analysis.typed import seed_names
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import CONFLICT, SLIP, UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model
from derivlint.model.generated.forward import TANGENT

META = RuleMeta(
    severity=Severity.ERROR,
    group="tangents",
    yields_to=(
        UNCOMPILED,
        SLIP,
        CONFLICT,
        SupersededBy(("forward-without-tangent",), "there is no tangent at all", Within.FORMULA),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: floor(Tensor self) -> Tensor
  self: zeros_like(grad)
  result: auto_element_wise
""",
    """\
- name: eq_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
  self: zeros_like(self)
  result: self_t.zero_()
""",
)

INVALID = (
    Invalid(
        at="3:11-41",
        message='the tangent of "result" does not depend on the tangent of any input',
        help='use "self_t" as a factor of every term',
    ),
    Invalid(
        """\
- name: eq_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
  self: zeros_like(self)
  result: self_t.zero_() + 1
""",
        at="3:11-29",
        message='the tangent of "result" does not depend on the tangent of any input',
        help='use "self_t" as a factor of every term',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas without a tangent."""
    for interpretation, node in without_seed(analyses_of(model), entry, backward=False):
        formula = interpretation.formula
        tangents = sorted(name for name in seed_names(formula) if name.endswith(TANGENT))
        if formula.written.auto is None and tangents:
            yield Finding(
                formula.span_of(node),
                f"the tangent of {quoted(formula.written.names[0].text)} does not depend on the tangent of any input",
                help=f"use {quoted_list(tangents, 'or')} as a factor of every term",
                at=formula.written,
            )
