"""A formula for several arguments does not forward grad_input_mask.

## What it detects
A call that returns the gradients of a key with several names, and whose parameter for the mask, an array of ``bool``,
is passed a constant such as ``{true, true}`` or another mask, or left at its default; or a list that lacks the flag of
one of the names, or has it in another place. Elements that a list does not have are "false" in C++, so
``{grad_input_mask[0]}`` is a mask in which all further gradients are switched off. Also a "std::get" of a gradient that
the mask of the call switches off, in any formula.

## Why it is bad
``grad_input_mask`` flags the arguments that require a gradient. With another mask, expensive gradients are computed
even if they are not needed, and an argument that it masks out receives no gradient, which is an error.

## Example
    - name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
      input, weight, bias: linear_backward(input, grad, weight, {true, true, true})

## Instead
    - name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
      input, weight, bias: linear_backward(input, grad, weight, grad_input_mask)

## Fix safety
The fix is unsafe: computing all gradients may be intended. It is offered where the mask has as many elements as the key
has names.

## What it cannot see
A function without such a parameter computes all gradients, which the rule does not judge. The function that is called
must be known, and its call must be the value of the formula.

## Sources
PyTorch pull request 66068 (grid_sampler_2d); torchgen/packaged/autograd/gen_autograd_functions.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.arguments import masked_out, other_masks
from derivlint.lint import AnalysisDepth, Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.generated.gradients import GRAD_INPUT_MASK

META = RuleMeta(severity=Severity.WARNING, group="gradients", yields_to=(UNCOMPILED,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) \
-> Tensor
  input, grid: grid_sampler_2d_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners, \
grad_input_mask)
""",
    # a part of the mask
    """\
- name: cudnn_convolution(Tensor self, Tensor weight, SymInt[] padding, SymInt[] stride, SymInt[] dilation, \
SymInt groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor
  self, weight: "_cudnn_convolution_backward(self, grad, weight, padding, std::vector<c10::SymInt>(padding.size(), 0), \
stride, dilation, false, groups, {grad_input_mask[0], grad_input_mask[1]})"
""",
)

INVALID = (
    Invalid(
        at="2:61-79",
        message='"output_mask" of "linear_backward" is "{true, true, true}" whatever gradients are needed',
        help='pass "grad_input_mask"',
        fixed="  input, weight, bias: linear_backward(input, grad, weight, grad_input_mask)",
    ),
    Invalid(
        """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: 'grad.defined() ? linear_backward(input, grad, weight, std::array<bool, 3>{true, true, false}) :
    std::tuple<Tensor, Tensor, Tensor>()'
""",
        at="2:79-117",
        message=(
            '"output_mask" of "linear_backward" is "std::array<bool, 3>{true, true, false}", so that the gradient of '
            '"bias" is never computed'
        ),
        help='pass "grad_input_mask"',
        fixed="  input, weight, bias: 'grad.defined() ? linear_backward(input, grad, weight, grad_input_mask) :",
    ),
    # C++ sets the rest to "false"
    Invalid(
        """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: linear_backward(input, grad, weight, {grad_input_mask[0]})
""",
        at="2:61-81",
        message=(
            '"output_mask" of "linear_backward" is "{grad_input_mask[0]}", so that the gradient of "weight" is never '
            "computed"
        ),
        help='pass "grad_input_mask"',
        fixed="  input, weight, bias: linear_backward(input, grad, weight, grad_input_mask)",
    ),
    # the flag of another argument, and both in the other order
    Invalid(
        """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: linear_backward(input, grad, weight, {grad_input_mask[0], true, grad_input_mask[1]})
""",
        at="2:61-107",
        message='"output_mask" of "linear_backward" has the flag of "weight" in the place of "bias"',
        help='pass "grad_input_mask"',
        fixed="  input, weight, bias: linear_backward(input, grad, weight, grad_input_mask)",
    ),
    Invalid(
        """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input, weight, bias: linear_backward(input, grad, weight, {{grad_input_mask[1], grad_input_mask[0], true}})
""",
        at="2:61-109",
        message='"output_mask" of "linear_backward" has the flag of "weight" in the place of "input"',
        help='pass "grad_input_mask"',
        fixed="  input, weight, bias: linear_backward(input, grad, weight, grad_input_mask)",
    ),
    # a constant mask
    Invalid(
        """\
- name: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  input: std::get<0>(linear_backward(input, grad, weight, {true, false, false}))
  weight: std::get<1>(linear_backward(input, grad, weight, {true, false, false}))
""",
        at="3:60-80",
        message='"linear_backward" computes no gradient 1 with the mask "{true, false, false}"',
        help='write "true" for element 1',
    ),
    # the operator's mask, of computed outputs
    Invalid(
        """\
- name: convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, \
SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> \
(Tensor, Tensor, Tensor)
  grad_output, input, weight: _convolution_double_backward_symint(grads[0], grads[1], grads[2], grad_output, weight, \
input, stride, padding, dilation, transposed, output_padding, groups, output_mask)
""",
        at="2:188-199",
        message='"output_mask" of "_convolution_double_backward_symint" is "output_mask" whatever gradients are needed',
        help='pass "grad_input_mask"',
        fixed=(
            "  grad_output, input, weight: _convolution_double_backward_symint(grads[0], grads[1], grads[2], "
            "grad_output, weight, input, stride, padding, dilation, transposed, output_padding, groups, "
            "grad_input_mask)"
        ),
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find calls with another mask."""
    analyses = analyses_of(model)
    for formula in analyses.formulas(entry):
        for masked in masked_out(formula):
            text = quoted(formula.source_of(masked.mask))
            yield Finding(
                formula.span_of(masked.mask),
                f"{quoted(masked.callee)} computes no gradient {masked.position} with the mask {text}",
                help=f'write "true" for element {masked.position}',
                severity=Severity.ERROR,
                at=formula.written,
            )
        for mask in other_masks(formula):
            written, fix = formula.written, None
            where = formula.span_of(mask.call if mask.argument is None else mask.argument)
            value = "its default" if mask.argument is None else quoted(formula.source_of(mask.argument))
            message = f"{quoted(mask.parameter)} of {quoted(mask.callee)} "
            severity, name = None, mask.unflagged
            if name is None:
                message += f"is {value} whatever gradients are needed"
            else:
                flag = mask.flags[[name.text for name in written.names].index(name)]
                # a function may have its mask in an order of its own, but has all flags then
                severity = Severity.ERROR if name not in mask.flags else None
                message += (
                    f"is {value}, so that the gradient of {quoted(name)} is never computed"
                    if flag == "false"
                    else f"has the flag of {quoted(flag)} in the place of {quoted(name)}"
                )
            if mask.argument is not None and mask.size == len(written.names) and written.is_exact():
                fix = Fix(f'write "{GRAD_INPUT_MASK}"', (TextEdit(where, GRAD_INPUT_MASK),), safe=False)
            yield Finding(where, message, help=f'pass "{GRAD_INPUT_MASK}"', fix=fix, severity=severity, at=written)
