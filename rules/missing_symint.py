"""A formula passes symbolic sizes to a function that takes plain integers.

## What it detects
A call of an operator with sizes that are symbolic (SymInt), although only its form with "_symint" takes them.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
      self: grad.expand(self.sym_sizes())

## Instead
    - name: sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
      self: grad.expand_symint(self.sym_sizes())

## Fix safety
The fix is safe: the "_symint" form takes these arguments.

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
from derivlint.lint.shared.typed_edits import as_other_form
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="types",
    checks=("X2",),
    yields_to=(UNREAD, SYMBOLIC),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
  self: grad.expand({1, 2})
""",
)

INVALID = (
    Invalid(
        at="2:14-37",
        message='"expand" does not take symbolic sizes',
        help='call "expand_symint"',
        fixed="  self: grad.expand_symint(self.sym_sizes())",
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: at::ones(self.sym_sizes(), grad.options()) * grad * result.conj()
""",
        at="2:9-34",
        message='"ones" does not take symbolic sizes',
        help='call "ones_symint"',
        fixed="  self: at::ones_symint(self.sym_sizes(), grad.options()) * grad * result.conj()",
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.MISSING_SYMINT,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the calls of operators with sizes."""
    yield type_finding(problem, as_other_form(problem))
