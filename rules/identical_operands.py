"""Both operands of an operator are the same expression.

## What it detects
"a || a", "a && a", "a - a", "a / a" and comparisons, such as "a < a" and "a == a", with the same expression on both
sides, conditions that occur twice in "a || b || a", and "c ? a : a".

## Why it is bad
The result is constant or the test is redundant. One operand was probably meant to be another gradient, tensor or
condition. It compiles. To find NaN, write "a.isnan()" for "a != a".

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

from derivlint.formula import Binary, Conditional, Expr, Name
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
        at="4:12-48",
        message='both sides of "||" are "self_t.defined()"',
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
    Invalid(
        """\
- name: gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
  self: gather_backward(grad, self, dim, index, sparse_grad==sparse_grad)
""",
        at="2:49-73",
        message='both sides of "==" are "sparse_grad"',
    ),
    Invalid(
        """\
- name: relu(Tensor self) -> Tensor
  self: threshold_backward(grad, result, 0).masked_fill(self != self, 0)
""",
        at="2:57-69",
        message='both sides of "!=" are "self"',
        help='replace one of the two operands; to find NaN, use "self.isnan()"',
    ),
    Invalid(
        """\
- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: "dim > 0 ? cumsum_backward(grad.to(self.scalar_type()), dim) : cumsum_backward(grad.to(self.scalar_type()), \
dim)"
""",
        at="2:10-121",
        message='both branches of "?" are "cumsum_backward(grad.to(self.scalar_type()),dim)"',
    ),
)

EQUALITIES = frozenset({"==", "!="})
OPERATORS = frozenset({"||", "&&", "-", "/", "<", ">", "<=", ">=", *EQUALITIES})
CHAINED = frozenset({"||", "&&"})


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find operators with equal operands, and chains with a repeated condition."""
    if not formula.is_expression:
        return
    nodes = [node for node in formula.parsed.nodes if isinstance(node, Binary) and node.op in OPERATORS]
    inner = {id(node.left) for node in nodes if _continues(node)}
    for node in nodes:
        if id(node) not in inner:
            yield from _repeated(formula, node)
    for choice in formula.parsed.nodes:
        if isinstance(choice, Conditional):
            text = formula.parsed.text
            then, otherwise = (
                "".join(text[branch.start : branch.end].split()) for branch in (choice.then, choice.otherwise)
            )
            if then == otherwise:
                message = f"both branches of {quoted('?')} are {quoted(then)}"
                yield Finding(formula.span_of(choice), message, help="replace one of the two branches")


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
            yield Finding(formula.span_of(where), message, help=_cure(formula, node, written))
        seen.add(written)


def _cure(formula: DerivativeFormula, node: Binary, written: str) -> str:
    if node.op in EQUALITIES and isinstance(node.left, Name) and not _is_argument_without_elements(formula, written):
        method = ".isnan()" if node.op == "!=" else ".isnan().logical_not()"
        return f'replace one of the two operands; to find NaN, use "{written}{method}"'
    return "replace one of the two operands"


def _is_argument_without_elements(formula: DerivativeFormula, name: str) -> bool:
    function = formula.entry.function
    arguments = function.canonical.schema.arguments.flat_all if function is not None else ()
    return any(argument.name == name and not argument.type.is_tensor_like for argument in arguments)


def _continues(node: Binary) -> bool:
    """Whether a node continues a chain ``a || b || c``, which is commutative."""
    return node.op in CHAINED and isinstance(node.left, Binary) and node.left.op == node.op


def _operands(node: Binary) -> Iterator[Expr]:
    """Return the operands of a chain or of one operator, in order."""
    operands = [node.right]
    while _continues(node):
        assert isinstance(node.left, Binary)
        node = node.left
        operands.append(node.right)
    operands.append(node.left)
    yield from reversed(operands)
