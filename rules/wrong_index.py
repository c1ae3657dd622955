"""A formula indexes a value that is not indexable, or uses an invalid index.

## What it detects
A subscript on a value that has none, or with an index that it does not take; a negative index into a list; a "std::get"
past the end of a tuple or on something other than a tuple; in the formula of a foreach operator, an index into a list
other than "i", or "i" as an index into a tensor.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt. A negative index compiles: it reads memory before the list. The formula of a foreach operator is evaluated for
each index "i": another element is that of another tensor, or past the end of the list.

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
    """\
- name: _foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]
  self: pow_backward(grads[i], self[(i)], exponent[i])
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
    # foreach formulas
    Invalid(
        """\
- name: _foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]
  self: pow_backward(grads[i], self[i], exponent[(i * 2)])
""",
        at="2:41-58",
        message='"exponent[(i * 2)]" is not the element "i" that a foreach formula is evaluated for',
        help='write "exponent[i]"',
    ),
    Invalid(
        """\
- name: _foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]
  self: pow_backward(grads[0], self[i], exponent[i])
""",
        at="2:22-30",
        message='"grads[0]" is not the element "i" that a foreach formula is evaluated for',
        help='write "grads[i]"',
    ),
    Invalid(
        """\
- name: _foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]
  self: norm_backward(grads[i], self[i], ord, result[i])
  result: norm_jvp(self_p, self_t, ord, self_p[i])
""",
        at="3:41-50",
        message='"self_p[i]" is a part of a tensor, not of a list',
        help='write "self_p"',
    ),
    # PyTorch's generator adds "[i]"
    Invalid(
        """\
- name: _foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]
  self: norm_backward(grads[i], self[i], ord, result[i])
  result: norm_jvp(self_p, self_t, ord, result[0])
""",
        at="3:11-51",
        message='"result[i][0]" is a part of a tensor, not of a list',
        help='write "result[i]"',
    ),
)


@judges(
    FormulaProblem,
    kinds=(
        TypeProblemKind.NOT_INDEXABLE,
        TypeProblemKind.NEGATIVE_INDEX,
        TypeProblemKind.ELEMENT_INDEX,
        TypeProblemKind.TUPLE_INDEX,
    ),
)
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the indices of formulas."""
    yield type_finding(problem)
