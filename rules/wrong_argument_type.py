"""A formula passes an argument of a type that the function does not take.

## What it detects
An argument that does not convert to the parameter's type in any overload, or arguments that each match some overload
while no overload takes them all.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      other: maybe_multiply(alpha, grad)

## Instead
    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      other: maybe_multiply(grad, alpha)

## Fix safety
A "Scalar" is not converted to a number by itself; converting it keeps what is meant.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import CONFLICT, FULL_STOP, OTHER_VARIABLE, SYMBOLIC, UNREAD
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
        FULL_STOP,
        SYMBOLIC,
        CONFLICT,
    ),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad.masked_fill(self > 0, 0)
""",
)

INVALID = (
    Invalid(
        at="2:25-30",
        message='argument 1 ("t") of "maybe_multiply" is of type "Scalar", expected "Tensor"',
        help='declared as "Tensor maybe_multiply(Tensor t, Scalar s)"',
    ),
    Invalid(
        """\
- name: floor(Tensor self) -> Tensor
  self: std::real(grad * 0)
""",
        at="2:19-27",
        message='argument 1 ("x") of "real" is of type "Tensor", expected "double" or "complex<double>"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: handle_r_to_c(grad, self.scalar_type())
""",
        at="2:23-27",
        message='argument 1 ("self_st") of "handle_r_to_c" is of type "Tensor", expected "ScalarType"',
        help='declared as "Tensor handle_r_to_c(ScalarType self_st, Tensor gradient_result)"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad.masked_fill(self.sym_sizes(), 0)
""",
        at="2:14-42",
        message='argument 1 ("mask") of "masked_fill" is of type "vector<SymInt>", expected "Tensor"',
        help='declared as "Tensor masked_fill(Tensor mask, Scalar value)"',
    ),
    Invalid(
        """\
- name: leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor
  self: leaky_relu_backward(grad, self, negative_slope, false) * std::exp(negative_slope) / std::exp(negative_slope.toDouble())
""",  # noqa: E501
        at="2:75-89",
        message='argument 1 ("x") of "exp" is of type "Scalar", expected "double" or "complex<double>"',
        help='write "negative_slope.toDouble()"',
        fixed=(
            "  self: leaky_relu_backward(grad, self, negative_slope, false) * "
            "std::exp(negative_slope.toDouble()) / std::exp(negative_slope.toDouble())"
        ),
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.ARGUMENT_TYPE, TypeProblemKind.NO_OVERLOAD))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the arguments of calls."""
    conversion = with_numbers_of_scalars(problem)
    yield (
        type_finding(problem, fix=conversion[1], help=conversion[0])
        if conversion is not None
        else type_finding(problem)
    )
