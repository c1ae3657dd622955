"""A formula is not a C++ expression.

## What it detects
A formula, or a condition in ``output_differentiability``, that does not parse: brackets that do not match, a missing
operand or operator, an unclosed string, a statement, a character that C++ does not know.

## Why it is bad
PyTorch's generator does not parse formulas; it copies them as written. The C++ compiler rejects the generated file,
many minutes later and at a location that does not mention derivatives.yaml.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * (self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * (self.sgn())

## Sources
torchgen/packaged/autograd/gen_autograd_functions.py, ``emit_derivative``; gen_variable_type.py, ``emit_fw_derivatives``
and ``setup_derivative``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import SyntaxProblemKind
from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import PYTHON
from derivlint.lint.judging import judges
from derivlint.model import Entry
from derivlint.model.keywords import near_keyword

META = RuleMeta(
    severity=Severity.ERROR,
    group="syntax",
    checks=("X2",),
    yields_to=(SupersededBy(("unknown-key",), "what is there is not a formula", Within.FORMULA), PYTHON),
)

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())
""",
    """\
- name: native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)
  input: "GradMode::is_enabled() ? f(grad, result1, p) : native_dropout_backward(grad, result1, 1.0 / (1.0 - p))"
""",
    """\
- name: to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor
  output_differentiability: ["dtype.has_value()"]
""",
)

INVALID = (
    Invalid(
        at="2:16-17",
        message='"(" is never closed',
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
""",
        at="2:41-45",
        message='missing operator or comma between "other" and "self"',
    ),
    Invalid(
        """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: "grad.defined() ? linear_backward(input, grad, weight, grad_input_mask) : \
std::tuple<Tensor, Tensor Tensor>()"
""",
        at="2:124-130",
        message='missing comma between "Tensor" and "Tensor"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: return grad * self.sgn()
""",
        at="2:9-15",
        message='a formula must be a single expression, not a statement with "return"',
        help='keep only the expression after "return"',
    ),
    Invalid(
        """\
- name: to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor
  output_differentiability: ["!dtype.has_value("]
  self: to_mkldnn_backward(grad, self)
""",
        at="2:47-48",
        message='"(" is never closed',
    ),
)

#: Kinds of problems that have rules of their own.
ELSEWHERE = frozenset(
    {
        SyntaxProblemKind.TRAILING_SEMICOLON,
        SyntaxProblemKind.COMMA_OPERATOR,
        SyntaxProblemKind.TOO_DEEP,
        SyntaxProblemKind.TOO_LARGE,
    }
)


@judges(Entry)
def check(entry: Entry) -> Iterator[Finding]:
    """Check the syntax of every formula of one entry."""
    for expression in entry.expressions:
        for problem in expression.parsed.problems:
            if problem.kind in ELSEWHERE:
                continue
            # "auto linear" is a misspelt keyword rather than two operands
            if expression.written is not None and near_keyword(expression.written) is not None:
                continue
            where = expression.range(problem.start, problem.end)
            yield Finding(
                where if where.start < where.end else expression.span,
                problem.message,
                help=problem.help,
                related=tuple(
                    Related(message, expression.range(start, end)) for message, start, end in problem.related
                ),
                at=expression.written,
            )
