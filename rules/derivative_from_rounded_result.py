"""A derivative is rebuilt from the rounded output of the operator.

## What it detects
A formula that computes the derivative from an output where that is nearly constant, such as "1 - result * result": the
output was rounded when it was stored, and the digits that the derivative needs are gone. The formula is evaluated
twice, with every operation rounded to half precision and in double precision; the message names an input at which they
differ by more than a twentieth.

## Why it is bad
Where a function saturates, its gradient is a multiple of the last digit of the output, and then zero. In half precision
"tanh" saturates from 4 on; in single precision the same happens from 9 on.

PyTorch does so on purpose where it saves memory: ``tanh_backward`` and ``sigmoid_backward`` take the output by design,
and ``elu_`` and ``celu_`` overwrite the input. Other findings in PyTorch 2.13 are listed in
[PyTorch's defects](../pytorch-defects.md#gradients-that-are-lost-in-half-precision).

## Example
    - name: expm1(Tensor self) -> Tensor
      self: grad * (result.conj() + 1)

## Instead
    - name: expm1(Tensor self) -> Tensor
      self: grad * self.exp().conj()

## What it cannot see
Operators that combine several elements, derivatives of derivatives.

## Sources
Higham, Accuracy and Stability of Numerical Algorithms, section 1.7; pytorch/pytorch#192406.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.half_precision.judgement import Lost
from derivlint.analysis.half_precision.values import LossCause
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WRONG_NUMBERS
from derivlint.lint.judging import judges
from derivlint.lint.shared.value_wording import loss_findings
from derivlint.lint.wording import quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING, group="precision", status="preview", yields_to=WRONG_NUMBERS, reads=AnalysisDepth.VALUES
)

VALID = (
    # the output has enough digits for the derivative
    """\
- name: sqrt(Tensor self) -> Tensor
  self: grad / (2 * result.conj())
""",
)

INVALID = (
    Invalid(
        at="2:17-34",
        message=(
            'in half precision, the gradient of "self" is 0.000488, not 0.000335, '
            'at self = -8, grad = 1: "result" was rounded'
        ),
        help="compute the derivative from the input",
    ),
    Invalid(
        """\
- name: tanh(Tensor self) -> Tensor
  self: grad * (1 - result * result).conj()
""",
        at="2:17-36",
        message=(
            'in half precision, the gradient of "self" is 0.000977, not 0.00134, '
            'at self = 4, grad = 1: "result" was rounded'
        ),
    ),
    Invalid(
        """\
- name: sigmoid(Tensor self) -> Tensor
  self: sigmoid_backward(grad, result)
""",
        at="2:9-39",
        message=(
            'in half precision, the gradient of "self" is 0.000488, not 0.000335, '
            'at self = 8, grad = 1: "result" was rounded'
        ),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the derivatives that are rebuilt from outputs."""
    help_text = "compute the derivative from the input"
    return loss_findings(entry, model, LossCause.ROUNDED_OUTPUT, _reason, help_text)


def _reason(lost: Lost) -> str:
    outputs = sorted(lost.loss.outputs)
    return f"{quoted_list(outputs)} {'was' if len(outputs) == 1 else 'were'} rounded"
