"""A formula contains an assignment.

## What it detects
An assignment, "=", "+=", "--" and the like, in a formula.

## Why it is bad
"a = b" was probably meant as "a == b". It compiles, and copies "b" into "a", a saved variable or a gradient, each time
it is evaluated.

## Example
    - name: maximum(Tensor self, Tensor other) -> Tensor
      self: at::where(self = other, grad / 2, grad).masked_fill_(self < other, 0)

## Instead
    - name: maximum(Tensor self, Tensor other) -> Tensor
      self: at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0)

## Fix safety
Writing ``==`` is unsafe: it changes what the formula computes.

## What it cannot see
Assignments in helpers and in lambdas of several statements.

## Sources
torch/csrc/autograd/generated/Functions.cpp, into which formulas are copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.interpretation.interpret import ASSIGNMENTS
from derivlint.formula import Binary, Postfix, Unary
from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import PYTHON
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula

META = RuleMeta(severity=Severity.ERROR, group="syntax", yields_to=(PYTHON,))

VALID = (
    """\
- name: amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
  self: scale_grad_by_count(restore_reduced_dims(grad, dim, keepdim), restore_reduced_dims(result, dim, keepdim) == \
self, dim)
""",
    """\
- name: rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor
  self: grad.rot90(- -(-k), dims)
""",
)

INVALID = (
    Invalid(
        at="2:24-25",
        message='a formula cannot assign with "="',
        help='to compare, write "=="',
        fixed="  self: at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0)",
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * (result *= 1).conj()
""",
        at="2:24-26",
        message='a formula cannot assign with "*="',
        help='use "*", which makes a new value',
        fixed="  self: grad * (result * 1).conj()",
    ),
    # not twice a minus
    Invalid(
        """\
- name: rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor
  self: grad.rot90(--k, dims)
""",
        at="2:20-23",
        message='a formula cannot assign with "--"',
        help='use "-", which makes a new value',
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find the assignments in a formula."""
    for node in formula.parsed.nodes if formula.is_expression else ():
        if isinstance(node, Binary) and node.op in ASSIGNMENTS:
            end = node.op_start + len(node.op)
            operator = "==" if node.op == "=" else node.op.removesuffix("=")
            yield Finding(
                formula.range(node.op_start, end),
                f"a formula cannot assign with {quoted(node.op)}",
                help='to compare, write "=="' if node.op == "=" else f'use "{node.op[0]}", which makes a new value',
                fix=formula_fix(formula, f"write {quoted(operator)}", [(node.op_start, end, operator)]),
            )
        elif isinstance(node, (Unary, Postfix)) and node.op in ("++", "--"):
            yield Finding(
                formula.span_of(node),
                f"a formula cannot assign with {quoted(node.op)}",
                help=f'use "{node.op[0]}", which makes a new value',
            )
