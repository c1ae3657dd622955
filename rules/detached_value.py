"""A formula detaches a value that its own derivative needs.

## What it detects
"detach", "data" or "item" of a gradient, a tangent, or an input or output that can be differentiated, where the result
of the formula depends on the detached value. A value that is only compared, or only gives its sizes, does not count,
nor does the branch of "GradMode::is_enabled()" where nothing is recorded.

## Why it is bad
Formulas are differentiated again for second derivatives. The first derivative is right, and the second one silently
lacks the part of the value that was cut off. "item" also fails for more than one element, and synchronizes with the
device.

## Example
    - name: exp(Tensor self) -> Tensor
      self: grad * result.detach().conj()

## Instead
    - name: exp(Tensor self) -> Tensor
      self: grad * result.conj()

## Fix safety
The first derivative stays the same. The fix is unsafe since the second derivative changes.

## Sources
The PyTorch note "Autograd mechanics"; ATen/core/TensorBody.h; tools/autograd/derivatives.yaml, where no formula has
these.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.differentiability.coverage import coverage_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.WARNING, group="higher-order", yields_to=(UNCOMPILED,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    # only its sizes count
    """\
- name: sign(Tensor self) -> Tensor
  self: zeros_like(self.detach())
""",
    # a mask has no derivative
    """\
- name: relu(Tensor self) -> Tensor
  self: grad * (result.detach() > 0)
""",
    # nothing is recorded there
    """\
- name: exp(Tensor self) -> Tensor
  self: "GradMode::is_enabled() ? grad * result.conj() : grad * result.detach().conj()"
""",
)

INVALID = (
    Invalid(
        at="2:16-31",
        message='"detach" detaches "result": second derivatives treat it as a constant',
        help='write "result"',
        fixed="  self: grad * result.conj()",
    ),
    Invalid(
        """\
- name: cosh(Tensor self) -> Tensor
  self: at::detach(grad) * self.sinh().conj()
  result: auto_element_wise
""",
        at="2:9-25",
        message='"detach" detaches "grad": second derivatives treat it as a constant',
        help='write "grad"',
        fixed="  self: grad * self.sinh().conj()",
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: result.conj() * grad.item()
""",
        at="2:25-36",
        message='"item" detaches "grad", and fails unless it has one element',
        help='write "grad"',
        fixed="  self: result.conj() * grad",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the values that formulas detach."""
    flow = coverage_of(model).flow
    for formula in analyses_of(model).formulas(entry):
        if not formula.written.is_expression:
            continue
        for call in flow.cuts(formula):
            operand = call.arguments[0].node
            text = formula.source_of(operand)
            message = f"{quoted(call.spelling)} detaches {quoted(text)}"
            consequence = ": second derivatives treat it as a constant"
            if call.spelling == "item":
                consequence = ", and fails unless it has one element"
            place = formula.evaluation.written_range(call.node.start, call.node.end)
            changes = [(*place, text)] if place is not None else []
            yield Finding(
                formula.span_of(call.node),
                message + consequence,
                help=f"write {quoted(text)}",
                fix=formula_fix(formula.written, f"write {quoted(text)}", changes),
                at=formula.written,
            )
