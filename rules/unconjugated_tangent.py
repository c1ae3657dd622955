"""A backward helper is called with a tangent that is not conjugated.

## What it detects
A forward formula that calls a helper named "..._backward", made for the gradient of a function, with a tangent that is
not conjugated, in the entry of an operator on PyTorch's complex list, or of a foreach operator that applies one.

## Why it is bad
A backward helper multiplies by the conjugate of the derivative. A tangent must be multiplied by the derivative itself:
write "helper(self_t.conj(), ...).conj()", which is also what "auto_element_wise" expands to. Otherwise real tangents
are right, and complex ones silently wrong.

## Example
    - name: sigmoid(Tensor self) -> Tensor
      self: sigmoid_backward(grad, result)
      result: sigmoid_backward(self_t, result)

## Instead
    - name: sigmoid(Tensor self) -> Tensor
      self: sigmoid_backward(grad, result)
      result: sigmoid_backward(self_t.conj(), result).conj()

## Fix safety
Conjugating the tangent and the result is unsafe: it changes the tangent of complex tensors.

## What it cannot see
Helpers with other names, and helpers that do not depend on an input or an output. Whether the result of the call is
conjugated is not checked. Which operators take complex numbers is read from the checkout or the release.

## Sources
torchgen/packaged/autograd/load_derivatives.py, "postprocess_forward_derivatives".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.conjugation import Mistake, mistakes
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED_HERE, WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import shown
from derivlint.lint.shared.typed_edits import conjugate_call
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR, group="complex", yields_to=(UNCOMPILED_HERE, WRONG_VALUE), reads=AnalysisDepth.SEMANTICS
)

VALID = (
    """\
- name: hardswish(Tensor self) -> Tensor
  self: hardswish_backward(grad, self)
  result: hardswish_backward(self_t, self_p)
""",
)

INVALID = (
    Invalid(
        at="3:28-34",
        message=(
            '"sigmoid_backward" multiplies by the conjugate of the derivative, but is passed "self_t" unconjugated'
        ),
        help="conjugate the tangent and the result of the call",
        fixed="  result: sigmoid_backward(self_t.conj(), result).conj()",
    ),
    Invalid(
        """\
- name: pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
  self: pow_backward(grad, self, exponent)
  result: pow_backward(self_t, self_p, exponent)
""",
        at="3:24-30",
        message=('"pow_backward" multiplies by the conjugate of the derivative, but is passed "self_t" unconjugated'),
        help="conjugate the tangent and the result of the call",
        fixed="  result: pow_backward(self_t.conj(), self_p, exponent).conj()",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find unconjugated tangents among the arguments of backward helpers."""
    for mistake in analyses_of(model).collect(entry, mistakes):
        if mistake.kind is Mistake.REUSED_BACKWARD:
            formula = mistake.interpretation.formula
            yield Finding(
                formula.span_of(mistake.node),
                f"{quoted(mistake.name)} multiplies by the conjugate of the derivative, but is passed "
                f"{shown(formula, mistake.node)} unconjugated",
                help="conjugate the tangent and the result of the call",
                fix=conjugate_call(formula, mistake.node, mistake.name),
                at=formula.written,
            )
