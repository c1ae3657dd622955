"""A formula calls a function that is declared deprecated.

## What it detects
A call of a function or method that is declared with "[[deprecated]]" or PyTorch's macros for it.

## Why it is bad
It will be removed, and its replacement is already available.

## Example
    - name: exp(Tensor self) -> Tensor
      self: "grad.is_variable() ? grad * result : grad"

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad * result

## Options
- ``allow`` (default: none): names or patterns of deprecated functions that may be called, such as ``["type"]``.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, Option, Options, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.WARNING,
    group="style",
    checks=("X2",),
    options=(Option("allow", (), "names or patterns of deprecated functions that may be called"),),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad.mul(result)
""",
)

INVALID = (
    Invalid(
        at="2:15-26",
        message='"is_variable" is deprecated',
        also=("missing-conjugate",),
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: handle_r_to_c(self.type().scalarType(), grad)
""",
        at="2:28-32",
        message='"type" is deprecated',
        help="instead use Tensor.options(), which in many cases (e.g. in a constructor) is a drop-in replacement",
    ),
)


@judges(FormulaProblem, Options, kinds=(TypeProblemKind.DEPRECATED,))
def check(problem: FormulaProblem, options: Options) -> Iterator[Finding]:
    """Check the functions that formulas call."""
    if not options.lists("allow", problem.problem.name):
        yield type_finding(problem)
