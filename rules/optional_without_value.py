"""A formula uses an optional without checking that it has a value.

## What it detects
A member of the contained value that is accessed on the optional itself, with "." instead of "->".

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
      self: where((self < min.toDouble()).logical_or(self > max->toDouble()), 0, grad)

## Instead
    - name: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
      self: where((self < min->toDouble()).logical_or(self > max->toDouble()), 0, grad)

## Fix safety
Replacing ``.`` by ``->`` is unsafe: it compiles, and is undefined behavior if the optional is empty. Test for that
first.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import refused_text, replaced
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(severity=Severity.ERROR, group="types", checks=("X2",), reads=AnalysisDepth.TYPES)

VALID = (
    """\
- name: nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
  self: grad * at::isfinite(self) * nan.value_or(0.0)
""",
    """\
- name: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
  self: clamp_backward(grad, self, min, max)
""",
)

INVALID = (
    Invalid(
        at="2:27-35",
        message='"toDouble" is accessed on "optional<Scalar>", which may be empty',
        help='write "->toDouble", guarded by ".has_value()"',
        fixed="  self: where((self < min->toDouble()).logical_or(self > max->toDouble()), 0, grad)",
    ),
    Invalid(
        """\
- name: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
  self: "max.isComplex() ? grad : clamp_backward(grad, self, min, max)"
""",
        at="2:14-23",
        message='"isComplex" is accessed on "optional<Scalar>", which may be empty',
        help='write "->isComplex", guarded by ".has_value()"',
        fixed='  self: "max->isComplex() ? grad : clamp_backward(grad, self, min, max)"',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.MEMBER_OF_OPTIONAL,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check accesses to members of optionals."""
    fix = None
    if refused_text(problem) is not None and problem.written.parsed.text[: problem.start].endswith("."):
        fix = replaced(problem, -1, 0, "->", safe=False)
    yield type_finding(problem, fix)
