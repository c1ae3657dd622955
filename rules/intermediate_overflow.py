"""A part of a formula overflows or underflows although the gradient does not.

## What it detects
A formula whose value in half precision is wrong because a part of it is too large or too small for the type: a square
before a root or a reciprocal, a reciprocal before a product. The formula is evaluated twice, with every operation
rounded to half precision and in double precision, at inputs that half precision has; the message names one.

## Why it is bad
The gradient is zero, infinite or NaN where it is an ordinary number. Half precision ends at 65504, so squares overflow
from 256 on; in single precision the same happens from 1.8e19 on.

In PyTorch 2.13, ``acosh``, ``addcdiv``, ``asinh``, ``atan2``, ``pow``, ``igamma`` and ``igammac`` lose gradients, see
[PyTorch's defects](../pytorch-defects.md#gradients-that-are-lost-in-half-precision).

## Example
    - name: asinh(Tensor self) -> Tensor
      self: grad * (self.pow(2) + 1).rsqrt().conj()

## Instead
    - name: asinh(Tensor self) -> Tensor
      self: grad / at::hypot(self, at::ones_like(self))

## What it cannot see
Operators that combine several elements, derivatives of derivatives, and helpers whose operations are not known.
Parts that overflow harmlessly are not reported, such as ``exp`` in ``1 / (1 + exp(-x))``.

## Sources
IEEE 754, section 7.4; Higham, Accuracy and Stability of Numerical Algorithms, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from derivlint.analysis.half_precision.judgement import Lost
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
    # the exponential overflows harmlessly: the gradient is rightly 0
    """\
- name: logaddexp(Tensor self, Tensor other) -> Tensor
  self: grad / (1 + exp(other - self)).conj()
  other: grad / (1 + exp(self - other)).conj()
""",
    # the output itself overflows
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
""",
)

INVALID = (
    Invalid(
        at="2:17-28",
        message=(
            'in half precision, the gradient of "self" is 0, not 0.00333, '
            'at self = 300, grad = 1: "self.pow(2)" overflows'
        ),
        help="rearrange the formula so that no part is out of range where the derivative is not",
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
        at="2:16-66",
        message=(
            'in half precision, the gradient of "self" is 0, not 0.00333, '
            'at self = 0.5, other = 300, grad = 1: "atan2_backward" overflows'
        ),
    ),
    Invalid(
        """\
- name: sqrt(Tensor self) -> Tensor
  self: 0.5 * grad * (self.pow(-1.5) * self).conj()
""",
        at="2:23-37",
        message=(
            'in half precision, the gradient of "self" is 0.00179, not 0.00204, '
            'at self = 6e4, grad = 1: "self.pow(-1.5)" underflows'
        ),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the parts that are out of range."""
    help_text = "rearrange the formula so that no part is out of range where the derivative is not"
    return loss_findings(entry, model, LossCause.RANGE, _reason, help_text)


def _reason(lost: Lost) -> str:
    return f"{part_of(lost)} {'overflows' if math.isinf(lost.loss.actual) else 'underflows'}"
