"""Where two arguments are equal, their gradients do not add up.

## What it detects
Formulas of "maximum", "minimum", "fmax", "fmin" and "clamp" whose gradients, where the arguments are equal, do not sum
to the gradient of the output; likewise for tangents. For "fmax" and "fmin" also where one argument is NaN and the other
is the result.

## Why it is bad
At a tie, how the gradient is split is a convention; but when all arguments move together, so does the output. If the
parts sum to 2 or to 0, gradients at ties are doubled or lost, which is common with constants and padding.

## Example
    - name: maximum(Tensor self, Tensor other) -> Tensor
      self: at::where(self == other, grad, grad).masked_fill_(self < other, 0)
      other: at::where(self == other, grad / 2, grad).masked_fill_(self > other, 0)

## Instead
    - name: maximum(Tensor self, Tensor other) -> Tensor
      self: at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0)
      other: at::where(self == other, grad / 2, grad).masked_fill_(self > other, 0)

## What it cannot see
Other operators, reductions over several elements among them; formulas that call unknown functions.

## Sources
Griewank and Walther, Evaluating Derivatives, section 14 (generalized gradients); PyTorch's derivatives.yaml at
"maximum".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, Related, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import SLIP, UNCOMPILED, WRONG_DEGREE
from derivlint.lint.judging import judges
from derivlint.lint.shared.value_wording import number
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR,
    group="gradients",
    yields_to=(
        UNCOMPILED,
        WRONG_DEGREE,
        SupersededBy(("wrong-tangent", "wrong-gradient"), "the formula is wrong itself", Within.FORMULA),
        SLIP,
    ),
    reads=AnalysisDepth.VALUES,
)

GRADIENTS = "the gradients of all arguments must sum to that of the output"
TANGENTS = "where the tangents of all arguments are equal, so must be that of the output"

VALID = (
    # one argument gets the whole gradient
    """\
- name: maximum(Tensor self, Tensor other) -> Tensor
  self: grad.masked_fill(self < other, 0)
  other: grad.masked_fill(self >= other, 0)
""",
)

INVALID = (
    Invalid(
        """\
- name: maximum(Tensor self, Tensor other) -> Tensor
  self: grad.masked_fill(self < other, 0)
  other: at::where(self == other, grad / 2, grad).masked_fill_(self > other, 0)
""",
        at="2:9-42",
        message=('where they are equal, the gradients of "self" and "other" add up to 1.5 times that of the output'),
        help=GRADIENTS,
    ),
    Invalid(
        """\
- name: fmax(Tensor self, Tensor other) -> Tensor
  self: grad.masked_fill((self >= other).logical_not_(), 0)
  other: grad.masked_fill((self >= other).logical_or_(other.isnan()), 0)
""",
        at="2:9-60",
        message='where "other" is NaN, the gradients of "self" and "other" add up to 0 times that of the output',
        help=GRADIENTS,
    ),
    Invalid(
        """\
- name: fmin(Tensor self, Tensor other) -> Tensor
  self: grad.masked_fill((self <= other).logical_or_(other.isnan()).logical_not_(), 0)
  other: grad.masked_fill((self <= other).logical_or_(other.isnan()), 0)
  result: other_t + (self_p <= other_p) * (self_t - other_t)
""",
        at="4:11-61",
        message='where "other" is NaN, the tangent of the output is 0 times that of "self"',
        help=TANGENTS,
    ),
    Invalid(
        """\
- name: clamp_min.Tensor(Tensor self, Tensor min) -> Tensor
  self: where(self > min, grad, at::scalar_tensor(0., grad.options()))
  min: where(self < min, grad, at::scalar_tensor(0., grad.options()))
  result: where(self_p >= min_p, self_t, min_t)
""",
        at="2:9-71",
        message='where they are equal, the gradients of "self" and "min" add up to 0 times that of the output',
        help=GRADIENTS,
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the formulas whose gradients do not sum to the whole."""
    for item in judgement_of(model, entry).shares:
        first = item.formulas[0]
        where = "where they are equal" if item.nan is None else f"where {quoted(item.nan)} is NaN"
        share = f"{number(item.total)} times that of"
        if len(item.names) > 1:
            kind = "gradients" if first.is_backward else "tangents"
            message = f"{where}, the {kind} of {quoted_list(item.names)} add up to {share} the output"
        elif first.is_backward:
            message = f"{where}, the gradient of {quoted(item.names[0])} is {share} the output"
        else:
            message = f"{where}, the tangent of the output is {share} {quoted(item.names[0])}"
        yield Finding(
            first.span_of(first.tree),
            message,
            help=GRADIENTS if first.is_backward else TANGENTS,
            related=tuple(Related("another share", formula.span_of(formula.tree)) for formula in item.formulas[1:]),
            at=first.written,
        )
