"""A formula ends with a semicolon.

## What it detects
A ``;`` after a formula, or after the condition in ``output_differentiability``.

## Why it is bad
A formula is an expression. PyTorch's generator pastes it into ``any_grad_defined ? (<formula>) : Tensor()``, where a
semicolon ends the statement too early; the file loads, and the C++ compiler rejects the result. In the few places where
the formula is the whole right-hand side of an assignment, the semicolon happens to be harmless.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn();

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Fix safety
Removing the semicolon does not change the expression.

## Sources
torchgen/packaged/autograd/gen_autograd_functions.py, ``emit_derivative``; gen_variable_type.py,
``emit_fw_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import SyntaxProblemKind
from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, SupersededBy, TextEdit, Within
from derivlint.lint.judging import judges
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR,
    group="syntax",
    checks=("X2",),
    yields_to=(SupersededBy(("misspelt-keyword",), "the formula is one word", Within.FORMULA),),
)

VALID = (
    # a semicolon inside a string is text
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: 'not_implemented("mm: self; see the notes")'
""",
)

INVALID = (
    Invalid(
        at="2:26-27",
        message='the formula ends with ";"',
        fixed="  self: grad * self.sgn()",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: "mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1) ;"
""",
        at="2:95-96",
        message='the formula ends with ";"',
        fixed='  self: "mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1) "',
    ),
)

KIND = SyntaxProblemKind.TRAILING_SEMICOLON


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the end of every formula of one entry."""
    if model.layout.semicolons or not model.natives.has_composite_keys:
        # before PyTorch 1.8, formulas were right-hand sides of assignments
        return
    for expression in entry.expressions:
        for problem in expression.parsed.problems:
            if problem.kind is KIND:
                where = expression.range(problem.start, problem.end)
                fix = Fix('remove the ";"', (TextEdit(where, ""),)) if expression.is_exact() else None
                kind = "formula" if expression.written is not None else "condition"
                yield Finding(
                    where,
                    f'the {kind} ends with ";"',
                    help='remove the ";"',
                    fix=fix,
                    at=expression.written,
                )
