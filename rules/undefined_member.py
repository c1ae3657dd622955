"""A formula accesses a member that the value's type does not have.

## What it detects
A method or field after "." or "->" that the type of the value does not declare: a misspelt method, a method of another
type, an operator that exists only as a function.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad * result.conjj()

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad * result.conj()

## Fix safety
Replacing the name by the closest known one is a guess, so the fix is unsafe.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import OTHER_VARIABLE, SYMBOLIC, UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import as_near_names
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="names",
    checks=("X2",),
    yields_to=(UNREAD, SYMBOLIC, OTHER_VARIABLE),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: my_function(grad).my_method()
""",
)

INVALID = (
    Invalid(
        at="2:23-28",
        message='"Tensor" has no member "conjj"',
        help='did you mean "conj"?',
        fixed="  self: grad * result.conj()",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: grad.mm(mat2.sym_sizes().conj())
""",
        at="2:34-38",
        message='"vector<SymInt>" has no member "conj"',
        help='call "conj" on a tensor',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self: grad.where(self == 0, grad)
  other: grad.zeros_like(other)
""",
        at="3:15-32",
        message='torchgen replaces "zeros_like(other)" with the saved "other_info", and "Tensor" has no such member',
        help='write "zeros_like(other)" by itself',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.NO_SUCH_MEMBER,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the members that formulas use."""
    yield type_finding(problem, as_near_names(problem))
