"""A formula uses a qualified name that its namespace does not have, or a type that is none.

## What it detects
A name after "::" that the namespace or class before it does not declare: a misspelt operator, a helper of
FunctionsManual.h looked for in "at::", a constant of another namespace. A variable or a misspelt name where C++ has a
type: in template arguments, casts, constructions and the declarations of lambdas.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: acosh(Tensor self) -> Tensor
      self: grad * at::rsqrtt(self.pow(2) - 1)

## Instead
    - name: acosh(Tensor self) -> Tensor
      self: grad * at::rsqrt(self.pow(2) - 1)

## Fix safety
Replacing the name by the closest known one is a guess, so the fix is unsafe.

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
from derivlint.lint.shared.typed_edits import as_near_names, as_qualified_name
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("X2",), yields_to=(UNREAD,), reads=AnalysisDepth.TYPES)

VALID = (
    """\
- name: neg(Tensor self) -> Tensor
  self: my_backend::function(grad, self)
""",
    """\
- name: neg(Tensor self) -> Tensor
  self: my_backend::function(std::vector<MyTensor>{grad})
""",
)

INVALID = (
    Invalid(
        at="2:20-26",
        message='"at" has no member "rsqrtt"',
        help='did you mean "rsqrt"?',
        fixed="  self: grad * at::rsqrt(self.pow(2) - 1)",
    ),
    Invalid(
        """\
- name: floor(Tensor self) -> Tensor
  self: at::zeros_like(self)
""",
        at="2:13-29",
        message='torchgen replaces "zeros_like(self)" with the saved "self_info", and "at" has no such member',
        help='write "zeros_like(self)" without "at::" before it',
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: at::maybe_multiply(grad, -1)
""",
        at="2:13-27",
        message='"at" has no member "maybe_multiply"',
        help='write "maybe_multiply"',
        fixed="  self: maybe_multiply(grad, -1)",
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: -grad.sum(torch::vector<int64_t>{0})
""",
        at="2:26-32",
        message='"torch" has no member "vector"',
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: my_backend::function(std::vector<Tnsor>{grad})
""",
        at="2:42-47",
        message='"Tnsor" is not a type',
        help='did you mean "Tensor"?',
        fixed="  self: my_backend::function(std::vector<Tensor>{grad})",
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: my_backend::function(std::vector<grad>{grad})
""",
        at="2:42-46",
        message='"grad" is not a type',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.NOT_IN_NAMESPACE, TypeProblemKind.NOT_A_TYPE))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the qualified names of formulas."""
    yield type_finding(problem, as_near_names(problem) or as_qualified_name(problem))
