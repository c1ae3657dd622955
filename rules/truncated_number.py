"""A fraction stands where C++ takes an integer.

## What it detects
A number with a fractional part as the argument for a parameter of an integral type, such as a dimension, or as an
index.

## Why it is bad
C++ drops the fraction silently: ``grads[0.5]`` is ``grads[0]``, and ``transpose(1, 2.5)`` is ``transpose(1, 2)``.
Either another number or another argument is meant.

## Example
    - name: baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
      batch1: maybe_multiply(grad.bmm(batch2.transpose(1, 2.5).conj()), alpha.conj())

## Instead
    - name: baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
      batch1: maybe_multiply(grad.bmm(batch2.transpose(1, 2).conj()), alpha.conj())

## What it cannot see
Numbers that are computed or given by the caller. A list in braces with a fraction does not compile, which another rule
reports.

## Sources
The C++ standard, floating-integral conversions; torch/csrc/autograd/FunctionsManual.h and native_functions.yaml, for
the types of parameters.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.integral import truncated_numbers
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED_HERE
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="arguments", yields_to=(UNCOMPILED_HERE,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    # an integer that is written as a floating-point number, and a fraction for a Scalar
    """\
- name: mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
  self: grad.unsqueeze(0.).squeeze(0).expand_symint(self.sym_sizes()) / self.sym_numel()
- name: hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor
  self: hardshrink_backward(grad, self, 0.5)
""",
    # infinity has no fraction
    """\
- name: squeeze(Tensor(a) self) -> Tensor(a)
  self: unsqueeze_to(grad, 1e999, self.sym_sizes())
""",
)

INVALID = (
    Invalid(
        at="2:55-58",
        message='"transpose" is passed "2.5" for the integer "dim1", which is truncated to 2',
        help="write an integer",
    ),
    Invalid(
        """\
- name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
  self: grads[0.5] / exponent.exp2()
""",
        at="2:15-18",
        message='the index is "0.5", which is truncated to 0',
        help="write an integer",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the fractions that are converted to integers."""
    for formula in analyses_of(model).formulas(entry):
        for number in truncated_numbers(formula):
            text = quoted(formula.source_of(number.node))
            place = f"{quoted(number.callee)} is passed {text} for the integer {quoted(number.parameter)}"
            yield Finding(
                formula.span_of(number.node),
                f"{place if number.callee else f'the index is {text}'}, which is truncated to {int(number.value)}",
                help="write an integer",
                at=formula.written,
            )
