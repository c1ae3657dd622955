"""A gradient or tangent is multiplied by a mask.

## What it detects
A product of a gradient or tangent and a mask, such as "grad * (self > 0)", also where the mask is cast first. The
formula is evaluated with infinite gradients at inputs where the mask is false; the message names one.

## Why it is bad
Infinity times zero is NaN, and so is NaN times zero: the mask does not remove such elements. Gradients are
infinite where a loss is scaled, and where a function has a vertical tangent at an element that is masked.

In PyTorch 2.13, the forward formulas of ``maximum``, ``minimum``, ``fmax`` and ``fmin`` multiply by a mask, and so does
``softplus_double_backward``; see [PyTorch's defects](../pytorch-defects.md).

## Example
    - name: relu(Tensor self) -> Tensor
      self: grad * (result > 0)

## Instead
    - name: relu(Tensor self) -> Tensor
      self: threshold_backward(grad, result, 0)

## What it cannot see
Masks that are arguments or random, as those of dropout; operators whose values are not known.

## Sources
IEEE 754, section 7.2; the PyTorch page "MaskedTensor", section "Distinguishing between 0 and NaN gradient".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.half_precision.values import LossCause
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_NUMBERS
from derivlint.lint.judging import judges
from derivlint.lint.shared.value_wording import loss_findings, part_of
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING, group="precision", status="preview", yields_to=WRONG_NUMBERS, reads=AnalysisDepth.VALUES
)

VALID = (
    """\
- name: relu(Tensor self) -> Tensor
  self: at::where(result > 0, grad, at::zeros({}, grad.options()))
""",
    # not a mask
    """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other
  other: grad * self
""",
)

INVALID = (
    Invalid(
        at="2:9-28",
        message=(
            'the gradient of "self" is NaN, not 0, at self = -0.5, grad = inf: "grad * (result > 0)" multiplies a mask'
        ),
        help="choose with at::where, or with masked_fill",
    ),
    Invalid(
        """\
- name: relu(Tensor self) -> Tensor
  self: (result > 0).type_as(grad) * grad
""",
        at="2:9-42",
        message=(
            'the gradient of "self" is NaN, not 0, at self = -0.5, grad = inf: "(result > '
            '0).type_as(grad) * grad" multiplies a mask'
        ),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the products with masks."""
    help_text = "choose with at::where, or with masked_fill"
    return loss_findings(entry, model, LossCause.MASK, lambda lost: f"{part_of(lost)} multiplies a mask", help_text)
