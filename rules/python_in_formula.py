"""A formula is written in Python where C++ has another notation.

## What it detects
Notations of Python that C++ does not have, or reads in another way: keyword arguments, "**", "//", "None", "True",
"is not", "a if c else b", lists and tuples, slices, chained comparisons, strings in single quotes, "lambda", ":=",
comments with "#", functions of "torch", "F", "np" and "math", methods and attributes of tensors in Python such as
".float()" and ".shape".

## Why it is bad
Formulas are C++. Most of these do not compile; some compile and mean something else: "0 < x < 1" compares the result of
the first comparison with 1, "(a, b)" is b, and "f(x, dim=0)" assigns to a variable.

## Example
    - name: tanh(Tensor self) -> Tensor
      self: grad * (1 - result**2).conj()

## Instead
    - name: tanh(Tensor self) -> Tensor
      self: grad * (1 - result.pow(2)).conj()

## Fix safety
A fix is offered only if the fixed formula type-checks and has the type that its key requires.

## Sources
torch/csrc/autograd/FunctionsManual.h; ATen/core/TensorBody.h; the reference of the language Python.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.python.translation import PythonSlip, python_slips
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formula_fix, quoted_formula_fix
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Model

META = RuleMeta(severity=Severity.ERROR, group="syntax", reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: tanh(Tensor self) -> Tensor
  self: grad * (1 - result * result).conj()
""",
    # an index is integral
    """\
- name: gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
  self: gather_backward(grad, self, dim, index ^ 1, sparse_grad)
""",
    # "not", "and" and "or" are C++ too
    """\
- name: gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
  self: "not sparse_grad and true ? gather_backward(grad, self, dim, index, sparse_grad) : gather_backward(grad, self, \
dim, index, true)"
""",
)

INVALID = (
    Invalid(
        at="2:27-29",
        message='C++ has no "**"',
        help='write "result.pow(2)"',
        fixed="  self: grad * (1 - result.pow(2)).conj()",
    ),
    Invalid(
        """\
- name: gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
  self: gather_backward(grad, self, dim, index, sparse_grad=sparse_grad)
""",
        at="2:49-61",
        message="C++ has no keyword arguments",
        help='write "sparse_grad"',
        fixed="  self: gather_backward(grad, self, dim, index, sparse_grad)",
    ),
    Invalid(
        """\
- name: relu(Tensor self) -> Tensor
  self: grad * (result > 0).float()
""",
        at="2:29-34",
        message='C++ has no method "float"',
        help='write "(result > 0).to(at::kFloat)"',
        fixed="  self: grad * (result > 0).to(at::kFloat)",
    ),
    # a list of the elements of a list
    Invalid(
        """\
- name: permute(Tensor(a) self, int[] dims) -> Tensor(a)
  self: permute_backwards(grad, [*dims])
""",
        at="2:33-34",
        message='C++ cannot unpack a list with "*"',
        help='write "dims"',
        fixed="  self: permute_backwards(grad, dims)",
    ),
    # a generator
    Invalid(
        """\
- name: permute(Tensor(a) self, int[] dims) -> Tensor(a)
  self: permute_backwards(grad, sorted(-d for d in dims))
""",
        at="2:43-46",
        message="C++ has no comprehensions",
        help="write the elements in braces, or call a function of FunctionsManual.h",
    ),
)

#: The maximum length of a quoted text.
LONG = 240


@judges(DerivativeFormula, Model)
def check(formula: DerivativeFormula, model: Model) -> Iterator[Finding]:
    """Find Python notations in a formula."""
    for slip in python_slips(model, formula):
        fix = None
        if slip.is_certain and slip.text is not None:
            title, change = f"write {quoted(_shown(slip.text))}", (*slip.changed, slip.text)
            fix = formula_fix(formula, title, [change], safe=True)
            fix = fix or quoted_formula_fix(formula, title, change, safe=True)
        yield Finding(formula.range(slip.start, slip.end), slip.message, help=_cure(slip), fix=fix)


def _cure(slip: PythonSlip) -> str | None:
    return f"write {quoted(_shown(slip.text))}" if slip.text is not None else slip.hint


def _shown(text: str) -> str:
    return text if len(text) <= LONG else f"{text[:LONG]}..."
