"""A formula raises an integer to the power of a tensor.

## What it detects
A call of "pow" with an integer as the base and, as the exponent, a tensor that may be integral: an argument beside
the one whose gradient is computed. If that is unknown, the confidence is medium; such findings are shown with
"--min-confidence medium".

## Why it is bad
If the exponent is integral, so is the power, and ``pow(2, -1)`` is 0.

## Example
    - name: ldexp.Tensor(Tensor self, Tensor other) -> Tensor
      self: grad * at::pow(2, other).conj()
      other: grad * result.conj() * M_LN2

## Instead
    - name: ldexp.Tensor(Tensor self, Tensor other) -> Tensor
      self: grad * at::pow(2.0, other).conj()
      other: grad * result.conj() * M_LN2

## Fix safety
Adding ``.0`` is unsafe: it changes the result.

## Sources
aten/src/ATen/native/Pow.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.integral import has_integral_exponent
from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Confidence, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import as_double, refused_text
from derivlint.lint.wording import quoted
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.WARNING, group="precision", checks=("X2",), yields_to=(UNCOMPILED,), reads=AnalysisDepth.SEMANTICS
)

VALID = (
    # values with a gradient have floating-point types, and so have differences from them
    """\
- name: exp2(Tensor self) -> Tensor
  self: grad * pow(2, self).conj() * M_LN2
""",
    """\
- name: logaddexp2(Tensor self, Tensor other) -> Tensor
  self: grad / (1 + pow(2, other - self))
  other: grad / (1 + pow(2, self - other))
""",
    """\
- name: logaddexp2(Tensor self, Tensor other) -> Tensor
  self: grad / (1 + pow(2.0, other - self))
  other: grad / (1 + pow(2.0, self - other))
  result: self_t / (1 + pow(2, other_p - self_p)) + other_t / (1 + pow(2, self_p - other_p))
""",
    """\
- name: ldexp.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * at::pow(2.0, other).conj()
  other: grad * at::pow(2, other).conj() * (self * M_LN2).conj()
  result: self_t * at::pow(2.0, other_p) + other_t * result * M_LN2
""",
)

INVALID = (
    Invalid(
        at="2:24-25",
        message='the base "2" is an integer, and so is its power by an integer tensor',
        help='write the base as a "double", such as "2.0"',
        fixed="  self: grad * at::pow(2.0, other).conj()",
    ),
    Invalid(
        """\
- name: ldexp.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * at::pow(2.0, other).conj()
  other: grad * result.conj() * M_LN2
  result: self_t / at::pow(2, -other_p) + other_t * result * M_LN2
""",
        at="4:28-29",
        message='the base "2" is an integer, and so is its power by an integer tensor',
        help='write the base as a "double", such as "2.0"',
        fixed="  result: self_t / at::pow(2.0, -other_p) + other_t * result * M_LN2",
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.INTEGER_BASE,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the powers in formulas."""
    may_be = has_integral_exponent(problem)
    if may_be is not False:
        base = refused_text(problem)
        yield type_finding(
            problem,
            as_double(problem),
            Confidence.HIGH if may_be else Confidence.MEDIUM,
            message=f"the base {quoted(base)} is an integer, and so is its power by an integer tensor"
            if base
            else None,
        )
