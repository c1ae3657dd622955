"""A formula calls a function with too few or too many arguments.

## What it detects
A call with a number of arguments that no overload of the function takes, defaults counted.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: neg(Tensor self) -> Tensor
      self: maybe_multiply(grad)

## Instead
    - name: neg(Tensor self) -> Tensor
      self: maybe_multiply(grad, -1)

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; native_functions.yaml; torchgen/api/cpp.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.cpp.problem import TypeProblemKind
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import FULL_STOP, OTHER_VARIABLE, SYMBOLIC, UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import type_finding
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="types",
    checks=("X2",),
    yields_to=(
        UNREAD,
        FULL_STOP,
        SYMBOLIC,
        OTHER_VARIABLE,
        SupersededBy(("grad-input-mask-of-single-argument",), "the mask itself is superfluous", Within.FORMULA),
    ),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
  self: grad.expand_symint(self.sym_sizes())
  result: at::sum(self_t)
""",
)

INVALID = (
    Invalid(
        at="2:9-29",
        message='"maybe_multiply" takes 2 arguments, but 1 is given',
        help='declared as "Tensor maybe_multiply(Tensor t, Scalar s)"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad.sgn(self)
""",
        at="2:14-23",
        message='"sgn" takes no argument, but 1 is given',
        help='declared as "Tensor sgn()"',
    ),
)


@judges(FormulaProblem, kinds=(TypeProblemKind.ARGUMENT_COUNT,))
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the number of arguments of calls."""
    yield type_finding(problem)
