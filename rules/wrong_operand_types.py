"""A formula applies an operator to types for which it is not defined.

## What it detects
An arithmetic, comparison, logical or assignment operator, or "?", with operands that it does not take: "&&" between
tensors, "*" between a tensor and a list of sizes, "-" of an optional.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: grad * other.sym_sizes()

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: grad * other

## Fix safety
A "Scalar" has no arithmetic in C++; converting it keeps what is meant.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import CONFLICT, OTHER_VARIABLE, UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import with_numbers_of_scalars
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="types",
    checks=("X2",),
    yields_to=(
        UNREAD,
        OTHER_VARIABLE,
        CONFLICT,
    ),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: "self.dim() > 0 && other.defined() ? grad * other : grad"
""",
)

INVALID = (
    Invalid(
        at="2:14-15",
        message='"*" is not defined between "Tensor" and "vector<SymInt>"',
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: "grad * (self && other)"
""",
        at="2:23-25",
        message='"&&" is not defined for two values of type "Tensor"',
    ),
    Invalid(
        """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: "self ? grad : grad * other"
""",
        at="2:10-14",
        message='"Tensor" cannot be used as a condition',
    ),
    Invalid(
        """\
- name: celu(Tensor self, Scalar alpha=1.0) -> Tensor
  self: elu_backward(grad, alpha, 1, 1.0 / alpha, false, self)
""",
        at="2:42-43",
        message='"/" is not defined between "double" and "Scalar"',
        help='write "1.0 / alpha.toDouble()"',
        fixed="  self: elu_backward(grad, alpha, 1, 1.0 / alpha.toDouble(), false, self)",
    ),
    Invalid(
        """\
- name: pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
  self: pow_backward(grad, self, exponent or 2)
""",
        at="2:43-45",
        message='"||" is not defined between "Scalar" and "int"',
        help='"||" gives true or false in C++; choose a value with "condition ? a : b"',
    ),
)


@judges(
    FormulaProblem,
    kinds=(
        TypeProblemKind.OPERANDS,
        TypeProblemKind.CONDITION,
        TypeProblemKind.NOT_ASSIGNABLE,
        TypeProblemKind.MISPLACED_BRACES,
    ),
)
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the operators of formulas."""
    conversion = with_numbers_of_scalars(problem)
    yield (
        type_finding(problem, fix=conversion[1], help=conversion[0])
        if conversion is not None
        else type_finding(problem)
    )
