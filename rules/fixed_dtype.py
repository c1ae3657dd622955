"""A gradient or tangent is cast to a dtype that the formula names.

## What it detects
A method call with "at::kFloat", "at::kHalf" or "at::kBFloat16" on a value computed from a gradient or tangent, in an
entry whose operator takes other types as well; unless the result is cast back.

## Why it is bad
In double precision half of the digits are lost, and nothing raises: PyTorch casts the gradient to the type of the input
again. A complex gradient loses its imaginary part.

## Example
    - name: erf(Tensor self) -> Tensor
      self: 2.0 / sqrt(M_PI) * exp(-(self.pow(2))) * grad.to(at::kFloat)

## Instead
    - name: erf(Tensor self) -> Tensor
      self: 2.0 / sqrt(M_PI) * exp(-(self.pow(2))) * grad.to(self.scalar_type())

## Fix safety
Removing the cast is unsafe: a function that takes the result may need this type.

## What it cannot see
Casts of other factors, and types that are computed.

## Sources
torch/csrc/autograd/engine.cpp, "validate_outputs".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.calls.fixed_types import fixed_types
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="precision",
    yields_to=(
        UNCOMPILED,
        SupersededBy(("wrong-gradient", "wrong-tangent"), "complex numbers show it", Within.FORMULA),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # it is cast back
    """\
- name: erf(Tensor self) -> Tensor
  self: (2.0 / sqrt(M_PI) * exp(-(self.pow(2))) * grad.to(at::kFloat)).to(self.scalar_type())
""",
    """\
- name: erf(Tensor self) -> Tensor
  self: (2.0 / sqrt(M_PI) * exp(-(self.pow(2))) * grad.to(at::kFloat)).type_as(self)
""",
    # no digits are lost
    """\
- name: erf(Tensor self) -> Tensor
  self: 2.0 / sqrt(M_PI) * exp(-(self.pow(2))) * grad.to(at::kDouble)
""",
)

INVALID = (
    Invalid(
        at="2:50-69",
        message='the gradient of "self" is cast to "at::kFloat", whatever its type is',
        help="use the type of the input, such as self.scalar_type()",
        fixed="  self: 2.0 / sqrt(M_PI) * exp(-(self.pow(2))) * grad",
    ),
    Invalid(
        """\
- name: lgamma(Tensor self) -> Tensor
  self: grad * digamma(self)
  result: (self_t * digamma(self_p)).toType(at::kHalf)
""",
        at="3:11-55",
        message='the tangent of "result" is cast to "at::kHalf", whatever its type is',
        fixed="  result: (self_t * digamma(self_p))",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the casts of gradients and tangents to a low-precision dtype."""
    analyses = analyses_of(model)
    for interpretation in analyses.interpretations(entry):
        formula = interpretation.formula
        kind, tensor = ("gradient", "input") if formula.is_backward else ("tangent", "output")
        names = quoted_list([name.text for name in formula.written.names])
        for cast in fixed_types(interpretation):
            node = cast.call.node
            end = cast.call.arguments[0].node.end
            first = formula.written.names[0].text
            yield Finding(
                formula.span_of(node),
                f"the {kind} of {names} is cast to {quoted(formula.source_of(cast.type))}, whatever its type is",
                help=f"use the type of the {tensor}, such as {first}.scalar_type()",
                fix=formula_fix(formula.written, "remove the cast", [(end, node.end, "")]),
                at=formula.written,
            )
