"""A formula passes an argument of a type that the function does not take.

## What it detects

An argument that converts to the type of the parameter in no overload of the function, or arguments of which each
would fit some overload but no overload takes all.

## Why it is bad

PyTorch's generator copies formulas without a look at their types, so that only the C++ compiler finds the slip, after
a rebuild.

## Example

    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      other: maybe_multiply(alpha, grad)

## Instead

    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      other: maybe_multiply(grad, alpha)

## Sources

torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.precedence import CONFLICT, FULL_STOP, OTHER_VARIABLE, SYMBOLIC, UNREAD
from derivlint.lint.type_wording import type_finding
from derivlint.model.typing import FormulaProblem

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
)

VALID = (
    """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
""",
    """\
- name: exp(Tensor self) -> Tensor
  self: grad.masked_fill(self > 0, 0)
""",
)

INVALID = (
    Invalid(
        """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  other: maybe_multiply(alpha, grad)
""",
        at="2:25-30",
        message='argument 1 ("t") of "maybe_multiply" must be "Tensor", "alpha" is of type "Scalar"',
        help='declared as "Tensor maybe_multiply(Tensor t, Scalar s)"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: handle_r_to_c(grad, self.scalar_type())
""",
        at="2:23-27",
        message='argument 1 ("self_st") of "handle_r_to_c" must be "ScalarType", "grad" is of type "Tensor"',
        help='declared as "Tensor handle_r_to_c(ScalarType self_st, Tensor gradient_result)"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad.masked_fill(self.sym_sizes(), 0)
""",
        at="2:14-42",
        message='argument 1 ("mask") of "masked_fill" must be "Tensor", this is of type "vector<SymInt>"',
        help='declared as "Tensor masked_fill(Tensor mask, Scalar value)"',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.ARGUMENT_TYPE, TypeProblemKind.NO_OVERLOAD))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Judge the arguments of calls."""
    yield type_finding(problem)
