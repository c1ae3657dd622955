"""A formula calls a function that nothing declares.

## What it detects
A call of a name that is not a helper in FunctionsManual.h, an operator in the namespaces that C++ searches there, or a
C++ function.

In a backward formula a bare name finds an operator only by its arguments: "where(c, x, y)" is "at::where" if one of
them is a tensor. In a forward formula every operator is found.

In a PyTorch checkout, FunctionsManual.h declares the helpers, as do headers named with "--headers". If the file is not
PyTorch's own, lies in no checkout, and no header is given, a name that is not close to any known one may be declared
elsewhere, and is not reported.

## Why it is bad
PyTorch's generator copies formulas into C++ without type checking them, so the mistake surfaces only when PyTorch is
rebuilt.

## Example
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      self: mm_mat1_bakward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)

## Instead
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)

## Fix safety
Replacing the name by the closest known one is a guess, so the fix is unsafe.

## Options
- ``functions`` (default: none): names or patterns of functions that are declared in headers which derivlint does not
  read, such as ``["npu_*"]``.

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
from derivlint.lint.shared.typed_edits import as_near_names, as_qualified_name
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="names",
    checks=("X2",),
    options=(Option("functions", (), "names or patterns of functions that headers declare which are not read"),),
    yields_to=(UNREAD,),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
  result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())
""",
    """\
- name: neg(Tensor self) -> Tensor
  self: my_backend_function(grad, self)
""",
)

INVALID = (
    Invalid(
        at="2:9-24",
        message='no function "mm_mat1_bakward" is declared',
        help='did you mean "mm_mat1_backward"?',
        fixed="  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: self.sgn() * grad * scalar_tensor(1., grad.options())
""",
        at="2:29-42",
        message='no function "scalar_tensor" is declared',
        help='write "at::scalar_tensor": unqualified names are looked up there only for tensor arguments',
        fixed="  self: self.sgn() * grad * at::scalar_tensor(1., grad.options())",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * new_ones(self, {})
""",
        at="2:16-24",
        message='no function "new_ones" is declared',
        help='it is a method: write "x.new_ones()"',
    ),
)


@judges(FormulaProblem, Options, kinds=(TypeProblemKind.UNDECLARED_FUNCTION,))
def check(problem: FormulaProblem, options: Options) -> Iterator[Finding]:
    """Check the functions that formulas call."""
    if not options.lists("functions", problem.problem.name):
        yield type_finding(problem, as_near_names(problem) or as_qualified_name(problem))
