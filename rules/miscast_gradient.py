"""A gradient is cast to the type of another input, or not cast at all.

## What it detects
"handle_r_to_c(other.scalar_type(), ...)" in the formula of "self"; and a formula without "handle_r_to_c" in an entry of
PyTorch's complex list in which the formula of another input has it.

## Why it is bad
A real input of an operator with a complex output needs a real gradient: "handle_r_to_c" takes the real part where the
input is real. With the type of another input, or without it, mixed real and complex inputs fail or get a complex
gradient.

## Example
    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      self: handle_r_to_c(self.scalar_type(), grad)
      other: maybe_multiply(grad, alpha.conj())

## Instead
    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      self: handle_r_to_c(self.scalar_type(), grad)
      other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))

## What it cannot see
Helpers that cast themselves, which is assumed of every helper named "..._backward"; entries in which no formula casts.

## Sources
torch/csrc/autograd/FunctionsManual.h, "handle_r_to_c".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.missing import miscasts, uncast_gradients
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING, group="precision", yields_to=(UNCOMPILED_HERE,), reads=AnalysisDepth.SEMANTICS
)

VALID = (
    """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
""",
)

INVALID = (
    Invalid(
        at="3:10-44",
        message='the gradient of "other" lacks "handle_r_to_c", which other formulas of the entry have',
        help='write "handle_r_to_c(other.scalar_type(), ...)" around it',
    ),
    Invalid(
        """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(other.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
""",
        at="2:23-42",
        message='the gradient of "self" is cast to the type of "other"',
        help='use the type of "self"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the gradients with the cast of another input, or without one."""
    analyses = analyses_of(model)
    for body in entry.bodies:
        for formula in analyses.formulas_of(body):
            for call, name in miscasts(analyses.interpretation(formula)):
                (own,) = formula.names
                yield Finding(
                    formula.span_of(call.arguments[0].node),
                    f"the gradient of {quoted(own)} is cast to the type of {quoted(name)}",
                    help=f"use the type of {quoted(own)}",
                    at=formula.written,
                )
        for interpretation in uncast_gradients(analyses, body):
            written = interpretation.formula.written
            own = written.names[0].text
            yield Finding(
                written.value_span,
                f'the gradient of {quoted(own)} lacks "handle_r_to_c", which other formulas of the entry have',
                help=f'write "handle_r_to_c({own}.scalar_type(), ...)" around it',
                at=written,
            )
