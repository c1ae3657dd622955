"""A function is computed for the sizes of its result, which its argument has too.

## What it detects
An elementwise function of one tensor, such as "self.neg()" or "result.conj()", of whose result only the sizes, the
layout or the device are used: by a method such as "sym_sizes()", or by an operator such as "reshape_as" that takes a
tensor for its sizes.

## Why it is bad
The values are computed and dropped. The function was probably meant for another part of the formula.

## Example
    - name: _reshape_copy(Tensor self, SymInt[] size) -> Tensor
      self: grad.reshape_symint(self.neg().sym_sizes())

## Instead
    - name: _reshape_copy(Tensor self, SymInt[] size) -> Tensor
      self: grad.reshape_symint(self.sym_sizes())

## Fix safety
Removing the function is unsafe: it may have been meant for another part.

## What it cannot see
Functions of several tensors, and functions that may change the dtype or the strides. Helpers that use only the sizes of
an argument.

## Sources
The compiler warning "-Wunused-value".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.calls.without_effect import computed_for_sizes
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.shared.typed_edits import written
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING, group="arguments", yields_to=(UNCOMPILED_HERE,), reads=AnalysisDepth.SEMANTICS
)

VALID = (
    """\
- name: clamp_max(Tensor self, Scalar max) -> Tensor
  self: grad * (self <= max).type_as(grad)
  result: auto_element_wise
""",
    # the transpose has other sizes
    """\
- name: _reshape_copy(Tensor self, SymInt[] size) -> Tensor
  self: grad.t().reshape_symint(self.t().sym_sizes())
""",
    # a copy may have other strides
    """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg() + zeros_like(self.contiguous())
""",
)

INVALID = (
    Invalid(
        at="2:29-39",
        message='"self.neg()" is computed for its sizes only, and "self" has the same',
        help='write "self"',
        fixed="  self: grad.reshape_symint(self.sym_sizes())",
    ),
    Invalid(
        """\
- name: _reshape_copy(Tensor self, SymInt[] size) -> Tensor
  self: grad.reshape_as(self.conj())
""",
        at="2:25-36",
        message='"self.conj()" is computed for its sizes only, and "self" has the same',
        help='write "self"',
        fixed="  self: grad.reshape_as(self)",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find values of which only the sizes are used."""
    analyses = analyses_of(model)
    for interpretation in analyses.interpretations(entry):
        formula = interpretation.formula
        for node, operand in computed_for_sizes(interpretation, analyses.operators):
            place, text = written(formula, node), formula.source_of(operand)
            # "auto_element_wise" puts the conjugate of the tangent for the gradient in "type_as(grad)"
            if place is None:
                continue
            yield Finding(
                formula.span_of(node),
                f"{quoted(formula.source_of(node))} is computed for its sizes only, and {quoted(text)} has the same",
                help=f"write {quoted(text)}",
                fix=formula_fix(formula.written, f"use {quoted(text)}", [(*place, text)]),
                at=formula.written,
            )
