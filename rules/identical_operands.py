"""Both operands of an operator are the same expression.

## What it detects

"a || a", "a && a", "a - a", "a / a", "a < a" and "a > a" with the same expression on both sides, and conditions that
occur twice in "a || b || a".

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

from derivlint.formula import Binary, Expr
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
    Invalid(
        """\
- name: native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, \
float eps) -> (Tensor, Tensor, Tensor)
  input, weight, bias: "GradMode::is_enabled() || grads[1].defined() || grads[1].defined() ? \
infinitely_differentiable_native_group_norm_backward(grads[0], grads[1], grads[2], input, result1, result2, weight, N, \
C, HxW, group, eps, grad_input_mask) : std::tuple<Tensor, Tensor, Tensor>()"
""",
        at="2:73-91",
        message='"grads[1].defined()" occurs twice among the operands of "||"',
    ),
)

OPERATORS = frozenset({"||", "&&", "-", "/", "<", ">"})
CHAINED = frozenset({"||", "&&"})


@judges(Binary, DerivativeFormula)
def check(node: Binary, formula: DerivativeFormula) -> Iterator[Finding]:
    """Find the operators with the same expression on both sides."""
    if node.op in OPERATORS:
        text = formula.parsed.text
        right = _written(text, node.right)
        for left in _operands(node.left, node.op):
            if _written(text, left) == right:
                where: Expr = node
                message = f"both sides of {quoted(node.op)} are {quoted(right)}"
                if left is not node.left:
                    where, message = node.right, f"{quoted(right)} occurs twice among the operands of {quoted(node.op)}"
                yield Finding(formula.span_of(where), message, help="write what is meant on one of them")


def _written(text: str, node: Expr) -> str:
    return "".join(text[node.start : node.end].split())


def _operands(node: Expr, op: str) -> Iterator[Expr]:
    """The operands of a chain ``a || b || c``, for whose result their order does not matter."""
    while op in CHAINED and isinstance(node, Binary) and node.op == op:
        yield node.right
        node = node.left
    yield node
