"""A backward formula uses sizes or strides as plain integers.

## What it detects
``sizes()``, ``size(<number>)`` or ``strides()`` in a backward formula, on any object.

## Why it is bad
Under symbolic tracing the sizes of a tensor are expressions; reading plain integers specializes the code to one
example, or throws. PyTorch's generator rejects such a formula.

## Example
    - name: expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
      self: at::sum_to(grad, self.sizes())

## Instead
    - name: expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
      self: at::sum_to(grad, self.sym_sizes())

## Fix safety
The symbolic method gives the same sizes. The function that they are passed to must accept symbolic integers; most have
a form whose name ends in ``_symint``.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``saved_variables``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Entry, Model, Role
from derivlint.model.words import SYMBOLIC, PlainSize, plain_sizes

META = RuleMeta(severity=Severity.ERROR, group="types", checks=("L13", "L14", "L15"), yields_to=(UNREAD,))

VALID = (
    # PyTorch's generator accepts the size of a dimension given by an argument, and all forward formulas
    """\
- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: f(grad, self.size(dim))
  result: f(self_t, self_p.sizes())
""",
)

INVALID = (
    Invalid(
        at="2:31-36",
        message='"sizes()" gives plain integers; a backward formula needs symbolic ones',
        help='use "sym_sizes()"',
        fixed="  self: at::sum_to(grad, self.sym_sizes())",
    ),
    Invalid(
        """\
- name: cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
  self: f(grad, self.size(-1), dim)
""",
        at="2:22-26",
        message='"size(-1)" gives plain integers; a backward formula needs symbolic ones',
        help='use "sym_size(-1)"',
        fixed="  self: f(grad, self.sym_size(-1), dim)",
    ),
    # strides of another argument cannot be saved, so the symbolic form would be rejected too
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), mat2.strides(), self.layout(), 1)
""",
        at="2:61-68",
        message='"strides()" gives plain integers; a backward formula needs symbolic ones',
        help='only a formula for "mat2" alone can use its strides',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check calls in backward formulas, unless the file's PyTorch has only plain sizes."""
    if model.natives.has_symbolic_sizes:
        for body in entry.bodies:
            for formula in body.formulas:
                yield from _judge(formula)


def _judge(formula: DerivativeFormula) -> Iterator[Finding]:
    if formula.role is not Role.BACKWARD or formula.text is None:
        return
    text = formula.parsed.text
    for size in plain_sizes(formula.parsed):
        old = size.method.text
        arguments = text[size.method.end : size.call.end]
        where = formula.span_of(size.method)
        fix = None
        help = f"use {quoted(SYMBOLIC[old] + arguments)}"
        if not _can_be_symbolic(formula, size):
            help = f"only a formula for {quoted(size.receiver or '')} alone can use its strides"
        elif formula.is_exact():
            fix = Fix(f'use "{SYMBOLIC[old]}"', (TextEdit(where, SYMBOLIC[old]),))
        yield Finding(
            where,
            f"{quoted(old + arguments)} gives plain integers; a backward formula needs symbolic ones",
            help=help,
            fix=fix,
            at=formula,
        )


def _can_be_symbolic(formula: DerivativeFormula, size: PlainSize) -> bool:
    """Whether the symbolic form is valid: strides only of the argument whose gradient is computed."""
    function = formula.entry.function
    if size.method.text != "strides" or function is None or size.receiver is None:
        return True
    if size.receiver in [name.text for name in formula.names]:
        return len(formula.names) == 1
    saved = [binding.name for binding in function.arguments] + [output.name for output in function.outputs]
    return size.receiver not in saved
