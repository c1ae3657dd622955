"""A formula uses "->" on a value or "." on a pointer.

## What it detects
A member access with "->" on something that is neither a pointer nor an optional, or with "." on a pointer.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad * result->conj()

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad * result.conj()

## Fix safety
The fix is safe: only "." is valid on a value.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import refused_text, replaced
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="types",
    checks=("X2",),
    yields_to=(UNREAD, SupersededBy(("non-symint-size",), "the symbolic size is saved in another way", Within.FORMULA)),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
  self: where(self > min->toDouble(), grad, 0)
""",
)

INVALID = (
    Invalid(
        at="2:22-24",
        message='"->" cannot be used on "Tensor"',
        help='write "."',
        fixed="  self: grad * result.conj()",
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad->mul(result)
""",
        at="2:13-15",
        message='"->" cannot be used on "Tensor"',
        help='write "."',
        fixed="  self: grad.mul(result)",
        also=("missing-conjugate",),
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.WRONG_ACCESS,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the member accesses of formulas."""
    fix = replaced(problem, 0, 2, ".", safe=True) if refused_text(problem) == "->" else None
    yield type_finding(problem, fix)
