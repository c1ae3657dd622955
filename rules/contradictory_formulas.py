"""A forward formula contradicts a backward formula.

## What it detects
A backward and a forward formula of one operator that give different derivatives for tensors with one element, so that
at least one is wrong. Reported only for operators that derivlint cannot evaluate; for the others, "wrong-gradient" and
"wrong-tangent" name the wrong formula.

## Why it is bad
Backward mode and forward mode give different derivatives, and at least one is wrong.

## Example
    - name: my_square(Tensor self) -> Tensor
      self: grad * 2 * self
      result: self_t * self_p

## Instead
    - name: my_square(Tensor self) -> Tensor
      self: grad * 2 * self
      result: self_t * 2 * self_p

## What it cannot see
Formulas that use an output or call functions that derivlint cannot evaluate, operators with several outputs, and
differences that only appear with several elements.

## Sources
Griewank and Walther, Evaluating Derivatives, section 3.3: both modes are products with one Jacobian.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_TANGENT
from derivlint.lint.judging import judges
from derivlint.lint.shared.value_wording import number, values
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR,
    group="tangents",
    yields_to=WRONG_TANGENT,
    reads=AnalysisDepth.VALUES,
)

NATIVES = """\
- func: my_square(Tensor self) -> Tensor
  dispatch:
    CPU: my_square
- func: my_mix(Tensor self, Tensor other) -> Tensor
  dispatch:
    CPU: my_mix
"""

VALID = (
    """\
- name: nextafter(Tensor self, Tensor other) -> Tensor
  self: at::where(self != other, grad, 0)
  other: zeros_like(other)
  result: at::where(self_p != other_p, self_t, 0)
""",
    # the value of "result" is unknown
    """\
- name: special_bessel_j0(Tensor self) -> Tensor
  self: grad * result
  result: self_t * self_p
""",
)

INVALID = (
    Invalid(
        at="3:11-26",
        message=(
            'the derivative with respect to "self" at self = 0.571 is 0.571 by the forward, 1.14 by the '
            "backward formula"
        ),
        help="one of the two formulas is wrong; computed with one-element tensors",
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: my_mix(Tensor self, Tensor other) -> Tensor
  self: grad * other.cos()
  other: -grad * self * other.sin()
  result: self_t * other_p.cos() + self_p * other_t * other_p.sin()
""",
        at="4:11-68",
        message=(
            'the derivative with respect to "other" at self = 0.571, other = 0.483 is 0.265 by the '
            "forward, -0.265 by the backward formula"
        ),
        help="one of the two formulas is wrong; computed with one-element tensors",
        natives=NATIVES,
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas that contradict backward formulas."""
    for item in judgement_of(model, entry).contradictions:
        formula, backward = item.formula, item.contradicted
        if backward is None:
            continue
        yield Finding(
            formula.span_of(formula.tree),
            f"the derivative with respect to {quoted(item.name)} at {values(item.at)} is {number(item.actual)} by the "
            f"forward, {number(item.expected)} by the backward formula",
            help="one of the two formulas is wrong; computed with one-element tensors",
            related=(Related("the backward formula", backward.span_of(backward.tree)),),
            at=formula.written,
            rests_on=(formula.written.entry.operator or "",),
        )
