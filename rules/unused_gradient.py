"""A backward formula does not depend on the gradient.

## What it detects
A backward formula, or one of the values that it returns, that is not zero and does not depend on any output gradient.
Exempt are "zeros_like" and other zeros, undefined tensors such as "Tensor()", "not_implemented" and helpers that raise
an error. Using only the sizes, the type or the presence of a gradient ("zeros_like(grad)", "grad.defined()") does not
count, nor does passing a gradient on where a condition has found that it is undefined.

## Why it is bad
A backward formula multiplies the gradient of the output by a Jacobian. Without it, the result does not depend on the
loss, and is right for one loss at most.

## Example
    - name: _cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, \
bool deterministic, bool zero_infinity) -> (Tensor, Tensor)
      log_probs: result1

## Instead
    - name: _cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, \
bool deterministic, bool zero_infinity) -> (Tensor, Tensor)
      log_probs: _cudnn_ctc_loss_backward(grad, result0, result1, zero_infinity)

## What it cannot see
Helpers with neither a body in the checkout nor a reference definition are assumed to be linear in their gradients and
tangents, which are recognized by parameter name. Values computed by unknown operators are not judged, nor are operators
for PyTorch's own tests ("_test_..."), whose formulas are wrong on purpose.

## Sources
Griewank and Walther, Evaluating Derivatives, section 3; the notes at the head of derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.linearity import without_seed
from derivlint.analysis.dependence.undefined_tensors import undefined_reads
from derivlint.formula import Call
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.engine.precedence import CONFLICT, SLIP, UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.shared.degree_wording import shown
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.ERROR,
    group="gradients",
    yields_to=(
        UNCOMPILED,
        SLIP,
        SupersededBy(("broken-foreach-identifier",), "a name is cut in two", Within.FORMULA),
        SupersededBy(("gradient-in-forward-formula",), "formulas are exchanged", Within.ENTRY),
        CONFLICT,
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # a lambda that is called
    """\
- name: sin(Tensor self) -> Tensor
  self: "[&]() { return grad * self.cos().conj(); }()"
""",
    """\
- name: sin(Tensor self) -> Tensor
  self: "[&]() { auto slope = self.cos(); return grad * slope.conj(); }()"
""",
    """\
- name: round(Tensor self) -> Tensor
  self: zeros_like(grad)
""",
    """\
- name: acosh_(Tensor(a!) self) -> Tensor(a!)
  self: not_implemented("inplace version of acosh")
""",
)

INVALID = (
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: at::ones_like(grad)
""",
        at="2:9-28",
        message='the gradient of "self" does not depend on the gradient of any output',
        help='multiply by "grad", the gradient of the output, or pass it to the function that is called',
    ),
    Invalid(
        at="2:14-21",
        message='the gradient of "log_probs" does not depend on the gradient of any output',
        help='multiply by "grad", the gradient of the output, or pass it to the function that is called',
    ),
    Invalid(
        """\
- name: angle(Tensor self) -> Tensor
  self: angle_backward(self.abs(), self)
""",
        at="2:9-41",
        message='the gradient of "self" does not depend on the gradient of any output',
        help='multiply by "grad", the gradient of the output, or pass it to the function that is called',
    ),
    Invalid(
        """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: 'bias.defined() ? linear_backward(input, input, weight, grad_input_mask) : \
std::tuple<Tensor, Tensor, Tensor>()'
""",
        at="2:25-135",
        message='the gradients of "input", "weight" and "bias" do not depend on the gradient of any output',
        help='multiply by "grad", the gradient of the output, or pass it to the function that is called',
    ),
    Invalid(
        """\
- name: _prelu_kernel(Tensor self, Tensor weight) -> Tensor
  self, weight: "!grad.defined() ? _prelu_kernel_backward(grad, self, weight) : std::tuple<Tensor, Tensor>()"
""",
        at="2:59-63",
        message='"grad" is undefined where "_prelu_kernel_backward" is passed it',
        help="exchange the branches, or negate the condition",
    ),
    Invalid(
        """\
- name: _prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)
  grad_output: "grads[0].defined() ? (grads[1].defined() ? at::where(self >= 0, grads[0], grads[0] * weight + grads[1] \
* self) : at::where(self >= 0, grads[0], grads[0] * weight)) : at::where(self >= 0, at::zeros({}, \
grad_output.options()), grads[0] * self)"
""",
        at="2:242-250",
        message='"grads[0]" is undefined where "*" is applied to it',
        help="exchange the branches, or negate the condition",
    ),
)

HELP = 'multiply by "grad", the gradient of the output, or pass it to the function that is called'


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the backward formulas without a gradient."""
    for interpretation, node in without_seed(analyses_of(model), entry, backward=True):
        formula = interpretation.formula
        names = [name.text for name in formula.written.names]
        of_names = (
            f"gradient of {quoted(names[0])} does" if len(names) == 1 else f"gradients of {quoted_list(names)} do"
        )
        message = f"the {of_names} not depend on the gradient of any output"
        if node is not formula.tree:
            message = f"{shown(formula, node)} does not depend on the gradient of any output"
        yield Finding(formula.span_of(node), message, help=HELP, at=formula.written)
    for formula in analyses_of(model).formulas(entry):
        for read in undefined_reads(formula):
            verb = "is passed" if isinstance(read.reader, Call) else "is applied to"
            message = f"{quoted(read.name)} is undefined where {quoted(read.operator)} {verb} it"
            help = "exchange the branches, or negate the condition"
            yield Finding(formula.span_of(read.node), message, help=help, at=formula.written)
