"""A formula indexes a value that is not indexable, or uses an invalid index.

## What it detects
A subscript on a value that has none, or with an index that it does not take; a negative index into a list; a "std::get"
past the end of a tuple or on something other than a tuple.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt. A negative index compiles: it reads memory before the list.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad * result.dim()[0]

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad * result[0]

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
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(severity=Severity.ERROR, group="types", checks=("X2",), yields_to=(UNREAD,), reads=AnalysisDepth.TYPES)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * std::get<1>(at::sort(self))
""",
)

INVALID = (
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * std::get<2>(at::sort(self))
""",
        at="2:25-26",
        message='"tuple<Tensor,Tensor>" has no element 2: its 2 elements are counted from 0',
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * std::get<0>(self)
""",
        at="2:16-33",
        message='"std::get" takes a tuple, but the value is of type "Tensor"',
    ),
    Invalid(
        """\
- name: _linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)
  A: linalg_eig_backward(grads[0], grads[-1], eigenvalues, eigenvectors, /*is_hermitian=*/true)
""",
        at="2:41-45",
        message='"[-1]" is before the first element: C++ counts from the start',
        help='the last element is ".back()"',
    ),
)


@judges(
    FormulaProblem, kinds=(TypeProblemKind.NOT_INDEXABLE, TypeProblemKind.NEGATIVE_INDEX, TypeProblemKind.TUPLE_INDEX)
)
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the indices of formulas."""
    yield type_finding(problem)
