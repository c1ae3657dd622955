"""A formula subtracts nearly equal numbers, or magnifies rounding in another way.

## What it detects
A formula whose value in half precision is wrong because an operation magnifies the rounding errors of its operands: a
difference of nearly equal numbers, the exponential of a large sum. The formula is evaluated twice, with every operation
rounded to half precision and in double precision, at inputs that half precision has; the message names one.

## Why it is bad
The gradient is mostly rounding error: in half precision at ordinary inputs, in wider types at more extreme ones.

In PyTorch 2.13, ``igamma``, ``igammac`` and ``pow`` with large exponents lose digits in this way, see
[PyTorch's defects](../pytorch-defects.md#gradients-that-are-lost-in-half-precision).

## Example
    - name: log1p(Tensor self) -> Tensor
      self: grad * (1 - self / (1 + self)).conj()

## Instead
    - name: log1p(Tensor self) -> Tensor
      self: grad / (1 + self).conj()

## What it cannot see
Operators that combine several elements, derivatives of derivatives, and helpers whose operations are not known.

## Sources
Goldberg, What Every Computer Scientist Should Know About Floating-Point Arithmetic, section 1.4.
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
    # the operands were never rounded
    """\
- name: neg(Tensor self) -> Tensor
  self: grad - 2 * grad
""",
)

INVALID = (
    Invalid(
        at="2:17-38",
        message=(
            'in half precision, the gradient of "self" is 0, not 0.0001, '
            'at self = 1e4, grad = 1: "1 - self / (1 + self)" cancels'
        ),
        help="rearrange the formula so that no nearly equal numbers are subtracted",
    ),
    Invalid(
        """\
- name: sigmoid(Tensor self) -> Tensor
  self: grad * (self.sigmoid() * (1 - self.sigmoid())).conj()
""",
        at="2:35-53",
        message=(
            'in half precision, the gradient of "self" is 0.000488, not 0.000335, '
            'at self = 8, grad = 1: "1 - self.sigmoid()" cancels'
        ),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the operations that magnify rounding errors."""
    help_text = "rearrange the formula so that no nearly equal numbers are subtracted"
    return loss_findings(entry, model, LossCause.CANCELLATION, lambda lost: f"{part_of(lost)} cancels", help_text)
