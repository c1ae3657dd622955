"""A formula calls a "_symint" form that does not exist or is not needed.

## What it detects
A call of a name with "_symint" of an operator that takes no sizes, or with sizes that are plain integers.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad.mul_symint(result)

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad.mul(result)

## Fix safety
The fix is safe if the plain form takes these arguments, and unsafe otherwise.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import FULL_STOP, SYMBOLIC, UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import as_other_form
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="types",
    checks=("X2",),
    yields_to=(UNREAD, FULL_STOP, SYMBOLIC),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
  self: grad.expand_symint(self.sym_sizes())
""",
)

INVALID = (
    Invalid(
        at="2:14-24",
        message='there is no "mul_symint": "mul" has no form for symbolic sizes',
        help='call "mul"',
        fixed="  self: grad.mul(result)",
        also=("missing-conjugate",),
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: exp_symint(self) * grad
""",
        at="2:9-19",
        message='there is no "exp_symint": "exp" has no form for symbolic sizes',
        help='call "exp"',
        fixed="  self: exp(self) * grad",
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.SUPERFLUOUS_SYMINT,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check calls of names with "_symint"."""
    yield type_finding(problem, as_other_form(problem))
