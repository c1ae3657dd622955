"""A formula divides an integer by an integer.

## What it detects
A division of two integers, literals such as "1/2" or sizes such as "self.sym_numel() / 2", which C++ truncates.

## Why it is bad
"1 / 2" is 0 in C++, unlike in Python. The formula compiles, and the gradient is wrong.

## Example
    - name: sqrt(Tensor self) -> Tensor
      self: grad / result * (1 / 2)

## Instead
    - name: sqrt(Tensor self) -> Tensor
      self: grad / result * 0.5

## Fix safety
Adding ``.0`` is unsafe: it changes the result.

## Sources
The C++ standard, [expr.mul].
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Confidence, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import as_double, refused_text
from derivlint.lint.wording import quoted
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.WARNING,
    group="precision",
    checks=("X2",),
    yields_to=(UNCOMPILED,),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * result / 2
""",
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * result * (1.0 / self.numel())
""",
)

INVALID = (
    Invalid(
        at="2:26-31",
        message='the division "1 / 2" is of integers and discards the fraction',
        help='write one operand as a "double", such as "2.0"',
        fixed="  self: grad / result * (1 / 2.0)",
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * result * (self.numel() / 2) * (2.0 / self.numel())
""",
        at="2:26-42",
        message='the division "self.numel() / 2" is of integers and discards the fraction',
        help='write one operand as a "double", such as "2.0"',
        fixed="  self: grad * result * (self.numel() / 2.0) * (2.0 / self.numel())",
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.INTEGER_DIVISION,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the divisions of formulas."""
    # sizes may be divisible; literals are known
    confidence = Confidence.HIGH if problem.problem.name else Confidence.MEDIUM
    text = refused_text(problem)
    message = f"the division {quoted(text)} is of integers and discards the fraction" if text else None
    yield type_finding(problem, as_double(problem), confidence, message=message)
