"""A header with declarations that formulas may call cannot be read.

## What it detects
In PyTorch's FunctionsManual.h of a checkout, and in headers that ``--headers`` names: a bracket or a comment that is
never closed, a declaration without its semicolon, and declarations that cannot be parsed.

## Why it is bad
Formulas are checked against what the header declares. If a declaration cannot be read, calls of the function are not
checked; after unmatched brackets, later declarations are lost.

## Example
    Tensor my_backward(const Tensor& grad, const Tensor& self)

## Instead
A header with ``Tensor my_backward(const Tensor& grad, const Tensor& self);``.

## What it cannot see
Macros are not expanded; the functions that they declare are unknown, and not reported.

## Sources
The grammar of C++ declarations; torch/csrc/autograd/FunctionsManual.h has nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Model

META = RuleMeta(severity=Severity.WARNING, group="names")

_ENTRY = """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
"""

VALID = (
    _ENTRY,
    """\
- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin()
""",
)

INVALID = (
    Invalid(
        _ENTRY,
        header="Tensor sin_backward(const Tensor& grad, const Tensor& self)\n",
        at="1:1-60",
        message='the declaration of "sin_backward" ends without ";"',
        help='write ";" after it',
    ),
    Invalid(
        _ENTRY,
        header="Tensor f(const Tensor& grad;\nTensor sin_backward(const Tensor& grad, const Tensor& self);\n",
        at="1:9-10",
        message='"(" is never closed',
        help='write ")" where it ends; calls of "f" are not checked until the header can be read',
    ),
    Invalid(
        _ENTRY,
        header="Tensor sin_backward(const Tensor& grad, const Tensor& self,);\n",
        at="1:60-61",
        message='cannot read the declaration of "sin_backward": unexpected ")"',
        help='correct it; calls of "sin_backward" are not checked until the header can be read',
    ),
)


@judges(Model)
def check(model: Model) -> Iterator[Finding]:
    """Find the unreadable parts of headers."""
    for problem in model.natives.header_problems:
        yield Finding(problem.span, problem.message, help=problem.help, source=problem.source)
