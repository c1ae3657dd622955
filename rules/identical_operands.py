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


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find the operators with the same expression on both sides, and chains with the same condition twice."""
    if not formula.is_expression:
        return
    nodes = [node for node in formula.parsed.nodes if isinstance(node, Binary) and node.op in OPERATORS]
    inner = {id(node.left) for node in nodes if _continues(node)}
    for node in nodes:
        if id(node) not in inner:
            yield from _repeated(formula, node)


def _repeated(formula: DerivativeFormula, node: Binary) -> Iterator[Finding]:
    text = formula.parsed.text
    operands = list(_operands(node))
    seen: set[str] = set()
    for operand in operands:
        written = "".join(text[operand.start : operand.end].split())
        if written in seen:
            where: Expr = operand
            message = f"{quoted(written)} occurs twice among the operands of {quoted(node.op)}"
            if len(operands) == 2:
                where, message = node, f"both sides of {quoted(node.op)} are {quoted(written)}"
            yield Finding(formula.span_of(where), message, help="write what is meant on one of them")
        seen.add(written)


def _continues(node: Binary) -> bool:
    """Whether a node goes on with a chain ``a || b || c``, for whose result the order of operands does not matter."""
    return node.op in CHAINED and isinstance(node.left, Binary) and node.left.op == node.op


def _operands(node: Binary) -> Iterator[Expr]:
    """The operands of a chain, or of one operator, in order."""
    found = [node.right]
    while _continues(node):
        assert isinstance(node.left, Binary)
        node = node.left
        found.append(node.right)
    found.append(node.left)
    yield from reversed(found)
