"""The formula is too long or too deeply nested to be checked.

## What it detects
Formulas of more than 5,000 tokens or 50,000 characters, and those that nest more than 120 levels deep. Each call,
bracket, operator and access to a member is a level: a chain of 100 calls, `self.sin().sin()...`, has 200.

## Why it is bad
The longest formula of PyTorch has some 300 tokens and nests 15 levels deep. Anything beyond the limits is an accident
or an attack on the checker. The formula is not analyzed: no other rule checks its types or its derivative.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
        .neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg()
        .neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg()
        .neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg()
        .neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg()
        .neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg()
        .neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg().neg()

## Instead
Move the computation to a function in FunctionsManual.cpp, and call that:

    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Sources
derivlint's own limits. PyTorch's generator copies a formula of any length; compilers have limits of their own, such as
256 levels of brackets in clang (`-fbracket-depth`).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import SyntaxProblemKind
from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Entry

META = RuleMeta(severity=Severity.ERROR, group="syntax")

VALID = (
    f"""\
- name: abs(Tensor self) -> Tensor
  self: grad * {"(" * 100}self.sgn(){")" * 100}
""",
    f"""\
- name: abs(Tensor self) -> Tensor
  self: 'grad * at::cat({{{"self, " * 2000}self}}, 0)'
""",
)

INVALID = (
    Invalid(
        f"""\
- name: abs(Tensor self) -> Tensor
  self: grad * {"(" * 250}self.sgn(){")" * 250}
""",
        at="2:9-526",
        message="the formula is nested more than 120 levels deep",
        help="it is not analyzed; move the computation to a C++ function, and call that",
    ),
    Invalid(
        f"""\
- name: abs(Tensor self) -> Tensor
  self: 'grad * at::cat({{{"self, " * 2600}self}}, 0)'
""",
        at="2:9-15636",
        message="the formula has 5,212 tokens, more than 5,000",
        help="it is not analyzed; move the computation to a C++ function, and call that",
    ),
    Invalid(
        f"""\
- name: abs(Tensor self) -> Tensor
  self: grad * {"1" * 50_000}
""",
        at="2:9-50016",
        message="the formula has 50,007 characters, more than 50,000",
        help="it is not analyzed; move the computation to a C++ function, and call that",
    ),
)

#: The kinds of problems of a formula that is not analyzed.
KINDS = frozenset({SyntaxProblemKind.TOO_DEEP, SyntaxProblemKind.TOO_LARGE})


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Report the expressions of one entry that are too large to analyze."""
    for expression in entry.expressions:
        for problem in expression.parsed.problems:
            if problem.kind in KINDS:
                yield Finding(
                    expression.span,
                    problem.message,
                    help="it is not analyzed; move the computation to a C++ function, and call that",
                    at=expression.written,
                )
