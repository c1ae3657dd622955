"""A formula constructs an object from arguments that no constructor accepts.

## What it detects
A cast or a constructor call with arguments of types from which the type cannot be made.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad * double(self)

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad * self.item<double>()

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import SYMBOLIC, UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR, group="types", checks=("X2",), yields_to=(UNREAD, SYMBOLIC), reads=AnalysisDepth.TYPES
)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * double(self.dim())
""",
)

INVALID = (
    Invalid(
        at="2:16-28",
        message='"double" cannot be constructed from "Tensor"',
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * at::Scalar(result)
""",
        at="2:16-34",
        message='"Scalar" cannot be constructed from "Tensor"',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.CONSTRUCTION,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check constructions of objects."""
    yield type_finding(problem)
