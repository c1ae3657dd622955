"""A tensor is saved for backward but not used by any formula.

## What it detects
An argument or output whose name occurs in backward formulas only where it is not a variable: in a string, after a dot,
or in a qualified name such as ``at::real``.

## Why it is bad
PyTorch's generator finds names by matching text, so it saves the tensor anyway. That keeps its memory alive until the
backward pass and makes in-place changes to it an error, for no benefit.

## Example
    - name: complex(Tensor real, Tensor imag) -> Tensor
      real: at::real(grad)
      imag: at::imag(grad)

## Instead
The formula is correct; a function or a message without that word avoids the save.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``saved_variables``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DispatchBody
from derivlint.model.info import accidental_saves

META = RuleMeta(
    severity=Severity.INFO,
    group="saving",
    checks=("X8",),
    yields_to=(
        UNCOMPILED,
        SupersededBy(
            ("duplicate-entry", "missing-argument-derivative", "unknown-key"),
            "the formula that is missing may need it",
            Within.ENTRY,
        ),
    ),
)

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
    # another formula of the node needs the tensor
    """\
- name: complex(Tensor real, Tensor imag) -> Tensor
  real: at::real(grad * real * imag)
  imag: at::imag(grad)
""",
)

INVALID = (
    Invalid(
        """\
- name: complex(Tensor real, Tensor imag) -> Tensor
  real: at::real(grad)
""",
        at="2:13-17",
        message='the tensor "real" is saved but unused: the formula mentions it only in a qualified name',
        help="torchgen saves every argument and output whose name it finds in the text",
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self: grad * self
  other: not_implemented("atan2 other")
""",
        at="3:33-38",
        message='the tensor "other" is saved but unused: the formula mentions it only in a string',
        also=("wrong-gradient",),
    ),
)

PLACES = {
    "string": "in a string",
    "comment": "in a comment",
    "member": "as a member",
    "qualified": "in a qualified name",
    "type": "as a type",
    "lambda": "as the parameter of a lambda",
}


@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Check the values that the formulas of one dispatch key save."""
    for save in accidental_saves(body):
        place = PLACES.get(save.word.role)
        # small values do not matter; a word that only ends with a name is undeclared anyway
        if place is None or not save.saved.is_tensor or save.written.parsed.tree is None:
            continue
        cure = "torchgen saves every argument and output whose name it finds in the text"
        if save.word.role in ("string", "comment"):
            cure = f"write a word other than {quoted(save.saved.name)}: {cure}"
        yield Finding(
            save.written.span_of(save.word),
            f"the tensor {quoted(save.saved.name)} is saved but unused: the formula mentions it only {place}",
            help=cure,
            at=save.written,
        )
