"""A formula raises an integer to the power of a tensor.

## What it detects

A call of "pow" with an integer as the base and a tensor as the exponent. Dtypes are not known statically, so the
confidence is low; the rule runs with "--min-confidence medium".

## Why it is bad

If the tensor is integral, so is the result, and ``pow(2, -1)`` is 0.

## Example

    - name: exp2(Tensor self) -> Tensor
      self: grad * pow(2, self) * M_LN2

## Instead

    - name: exp2(Tensor self) -> Tensor
      self: grad * pow(2.0, self) * M_LN2

## Fix safety

Adding ``.0`` is unsafe: it changes the result.

## Sources

aten/src/ATen/native/Pow.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import Confidence, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.problem_edits import as_double
from derivlint.lint.type_wording import type_finding
from derivlint.model.typing import FormulaProblem

META = RuleMeta(severity=Severity.WARNING, group="precision", confidence=Confidence.MEDIUM, checks=("X2",))

VALID = (
    """\
- name: exp2(Tensor self) -> Tensor
  self: grad * pow(2.0, self) * M_LN2
""",
    """\
- name: exp2(Tensor self) -> Tensor
  self: grad * self.pow(2) * M_LN2
""",
)

INVALID = (
    Invalid(
        """\
- name: exp2(Tensor self) -> Tensor
  self: grad * pow(2, self) * M_LN2
""",
        at="2:20-21",
        message="the power of an integer and an integer tensor is an integer",
        help='write it as a "double", such as "2.0"',
        fixed="""\
- name: exp2(Tensor self) -> Tensor
  self: grad * pow(2.0, self) * M_LN2
""",
    ),
    Invalid(
        """\
- name: exp2(Tensor self) -> Tensor
  self: grad * at::pow(10, self)
""",
        at="2:24-26",
        message="the power of an integer and an integer tensor is an integer",
        help='write it as a "double", such as "2.0"',
        also=("wrong-gradient",),
        fixed="""\
- name: exp2(Tensor self) -> Tensor
  self: grad * at::pow(10.0, self)
""",
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.INTEGER_BASE,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Judge the powers in formulas."""
    yield type_finding(problem, as_double(problem))
