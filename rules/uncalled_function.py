"""A formula names a function without calling it.

## What it detects
A method or function without parentheses after it, where a value is expected.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad * result.conj

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad * result.conj()

## Fix safety
The fix adds "()" and is unsafe: arguments may be missing.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import refused_text, replaced
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("X2",), yields_to=(UNREAD,), reads=AnalysisDepth.TYPES)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.t().conj()
""",
)

INVALID = (
    Invalid(
        at="2:23-27",
        message='"conj" is a function and is not called',
        help='write "conj()"',
        fixed="  self: grad * result.conj()",
    ),
    Invalid(
        """\
- name: std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
  self: std_backward(result, grad, self, dim, correction, keepdim)
  result: result(self_t)
""",
        at="3:11-25",
        message='"result" is of type "Tensor" and cannot be called',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.NOT_CALLED, TypeProblemKind.NOT_CALLABLE))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the functions that formulas name."""
    cause, fix = problem.problem, None
    if cause.kind is TypeProblemKind.NOT_CALLED and refused_text(problem) == cause.name and not cause.expected:
        fix = replaced(problem, len(cause.name), len(cause.name), "()", safe=False)
    yield type_finding(problem, fix)
