"""A formula does not have the type that its key requires.

## What it detects
A backward formula for one argument that is not a tensor, one for several arguments that is not a tuple with a tensor
for each, or a forward formula that is not the tangent of its output.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad.sym_sizes()

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad * result

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import UNNAMED, UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="types",
    checks=("X2",),
    yields_to=(UNREAD, SupersededBy(UNNAMED, "what is not declared has no type", Within.FORMULA)),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
)

INVALID = (
    Invalid(
        at="2:9-25",
        message='the formula is of type "ArrayRef<SymInt>", expected "Tensor"',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: grad * other
""",
        at="2:16-28",
        message='the formula is of type "Tensor", expected "tuple<Tensor,Tensor>"',
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * result
  result: self_t.dim()
""",
        at="3:11-23",
        message='the formula is of type "int64_t", expected "Tensor"',
        also=("missing-conjugate",),
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.RESULT,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the types of formulas."""
    yield type_finding(problem)
