"""A formula uses a constant that nothing declares.

## What it detects
A name spelled like a constant, such as "M_LN2" or "kJagged", that is declared neither in the namespaces that C++
searches there nor as a macro.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: exp2(Tensor self) -> Tensor
      self: grad * result.conj() * M_L2N

## Instead
    - name: exp2(Tensor self) -> Tensor
      self: grad * result.conj() * M_LN2

## Fix safety
Replacing the name by the closest known one is a guess, so the fix is unsafe.

## Options
- ``names`` (default: none): names or patterns of constants and macros that are declared in headers which derivlint does
  not read, such as ``["MY_*"]``.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, Option, Options, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.lint.shared.typed_edits import as_near_names
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="names",
    checks=("X2",),
    options=(Option("names", (), "names or patterns of constants that headers declare which are not read"),),
    yields_to=(UNREAD,),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: exp2(Tensor self) -> Tensor
  self: grad * result.conj() * MY_BACKENDS_CONSTANT
""",
)

INVALID = (
    Invalid(
        at="2:32-37",
        message='"M_L2N" is not declared',
        help='did you mean "M_LN2"?',
        fixed="  self: grad * result.conj() * M_LN2",
    ),
    Invalid(
        """\
- name: erf(Tensor self) -> Tensor
  self: 2.0 / sqrt(M_PII) * exp(-(self.pow(2))).conj() * grad
""",
        at="2:20-25",
        message='"M_PII" is not declared',
        help='did you mean "M_PI"?',
        fixed="  self: 2.0 / sqrt(M_PI) * exp(-(self.pow(2))).conj() * grad",
    ),
)


@judges(FormulaProblem, Options, kinds=(TypeProblemKind.UNDECLARED_NAME,))
def check(problem: FormulaProblem, options: Options) -> Iterator[Finding]:
    """Check the constants of formulas."""
    if not options.lists("names", problem.problem.name):
        yield type_finding(problem, as_near_names(problem))
