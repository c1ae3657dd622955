"""Both operands of an operator are the same expression.

## What it detects

"a || a", "a && a", "a - a", "a / a", "a < a" and "a > a" with the same expression on both sides.

## Why it is bad

The result is constant or the test is redundant. One operand was probably meant to be another gradient, tensor or
condition. It compiles.

## Example

    - name: hypot(Tensor self, Tensor other) -> Tensor
      self: grad * (self / result)
      other: grad * (other / result)
      result: "self_t.defined() || self_t.defined() ? self_t * (self_p / result) + other_t * (other_p / result) : \
Tensor()"

## Instead

    - name: hypot(Tensor self, Tensor other) -> Tensor
      self: grad * (self / result)
      other: grad * (other / result)
      result: "self_t.defined() || other_t.defined() ? self_t * (self_p / result) + other_t * (other_p / result) : \
Tensor()"

## What it cannot see

Operands that are equivalent but written differently.

## Sources

The rule eq_op of clippy.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import Binary
from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula

META = RuleMeta(severity=Severity.WARNING, group="arguments", yields_to=(UNCOMPILED_HERE,))

VALID = (
    """\
- name: logaddexp(Tensor self, Tensor other) -> Tensor
  self: grad / (1 + exp(other - self)).conj()
""",
    """\
- name: square(Tensor self) -> Tensor
  self: grad * (self + self)
""",
)

INVALID = (
    Invalid(
        """\
- name: mvlgamma(Tensor self, int p) -> Tensor
  self: grad / (1 + special_expit(self - self)).conj()
""",
        at="2:35-46",
        message='both sides of "-" are "self"',
    ),
    Invalid(
        """\
- name: native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor \
rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
  input, weight, grad_out: "grads[0].defined() || grads[0].defined() ? layer_norm_double_backward(input, weight, \
grads[0], grads[1], grads[2], grad_out, mean, rstd, normalized_shape, grad_input_mask) : std::tuple<Tensor, Tensor, \
Tensor>()"
""",
        at="2:29-69",
        message='both sides of "||" are "grads[0].defined()"',
    ),
)

OPERATORS = frozenset({"||", "&&", "-", "/", "<", ">"})


@judges(Binary, DerivativeFormula)
def check(node: Binary, formula: DerivativeFormula) -> Iterator[Finding]:
    """Find the operators with the same expression on both sides."""
    if node.op in OPERATORS:
        text = formula.parsed.text
        left, right = ("".join(text[side.start : side.end].split()) for side in (node.left, node.right))
        if left == right:
            message = f"both sides of {quoted(node.op)} are {quoted(left)}"
            yield Finding(formula.span_of(node), message, help="write what is meant on one of them")
