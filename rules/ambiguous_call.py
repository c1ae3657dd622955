"""A call is ambiguous: several overloads match equally well.

## What it detects
A call that C++ rejects because no overload is better than the others.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad.clamp(std::nullopt)

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad.clamp(std::optional<at::Scalar>())

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(severity=Severity.ERROR, group="types", checks=("X2",), reads=AnalysisDepth.TYPES)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad.clamp(0)
""",
)

INVALID = (
    Invalid(
        at="2:14-33",
        message='the call of "clamp" is ambiguous: 2 overloads match equally well',
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: at::clamp(grad, std::nullopt)
""",
        at="2:9-38",
        message='the call of "clamp" is ambiguous: 2 overloads match equally well',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.AMBIGUOUS_CALL,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the calls of overloaded functions."""
    yield type_finding(problem)
