"""The branches of "?:" have no common type.

## What it detects
A conditional expression whose branches do not convert to a common type: a tensor and a number, a tensor and "nullopt",
two tuples of different length.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp(Tensor self) -> Tensor
      self: "grad.defined() ? grad * result : 0.0"

## Instead
    - name: exp(Tensor self) -> Tensor
      self: "grad.defined() ? grad * result : Tensor()"

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
  self: "grad * (self.dim() > 1 ? 1 : 0.5)"
""",
)

INVALID = (
    Invalid(
        at="2:25-46",
        message='the branches have no common type: "Tensor" and "double"',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: "grad.defined() ? atan2_backward(grad, self, other, grad_input_mask) : std::tuple<Tensor>()"
""",
        at="2:32-107",
        message='the branches have no common type: "tuple<Tensor,Tensor>" and "tuple<Tensor>"',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.BRANCHES,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the branches of conditional expressions."""
    yield type_finding(problem)
