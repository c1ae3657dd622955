"""A formula uses the comma operator, which discards all values but the last.

## What it detects
The comma operator: ``(grad, self)`` with no function in front.

## Why it is bad
It compiles. The value is that of the last operand; the others are discarded. Almost always the name of a function is
missing in front.

## Example
    - name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor
      other: (grad * self, other)

## Instead
    - name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor
      other: div(grad * self, other)

## Sources
The C++ standard, [expr.comma].
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import SyntaxProblemKind
from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import PYTHON
from derivlint.lint.judging import judges
from derivlint.model import DerivativeFormula

META = RuleMeta(severity=Severity.WARNING, group="syntax", checks=("X2",), yields_to=(PYTHON,))

VALID = (
    """\
- name: xlogy.Tensor(Tensor self, Tensor other) -> Tensor
  other: (grad * self) / other
""",
)

INVALID = (
    Invalid(
        at="2:22-23",
        message='"," discards the value before it: these parentheses are not a call',
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: (grad, other, self)
""",
        at="2:14-15",
        message='"," discards the value before it: these parentheses are not a call',
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the parentheses of one formula."""
    if formula.is_expression:
        for problem in formula.parsed.problems:
            if problem.kind is SyntaxProblemKind.COMMA_OPERATOR:
                yield Finding(formula.range(problem.start, problem.end), problem.message, help=problem.help, at=formula)
