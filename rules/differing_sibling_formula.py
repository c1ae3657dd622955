"""The formulas of two closely related operators differ in one place.

## What it detects
Two entries whose operators have the same name except for the number of dimensions ("max_pool2d" and "max_pool3d") or
the library ("cudnn_batch_norm" and "miopen_batch_norm"), and whose formulas for the same key differ in a single token,
or in a call that only one of them has, such as "contiguous" with a memory format. The number of dimensions itself, and
names that differ in the same way, do not count as a difference; the same difference may occur several times. A memory
format that only one of them passes to "contiguous" for the same tensor counts whatever else differs.

## Why it is bad
Such formulas are copies of one another, and a correction made to one often does not reach the other: the memory format
in "slow_conv_transpose2d" was corrected twenty months before "slow_conv_transpose3d", and "miopen_batch_norm" lacked
that of "cudnn_batch_norm" until PyTorch 2.10.

## Example
    - name: replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
      self: replication_pad2d_backward_symint(grad, self, padding)
    - name: replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor
      self: replication_pad3d_backward_symint(grad.contiguous(), self, padding)

## Instead
    - name: replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
      self: replication_pad2d_backward_symint(grad, self, padding)
    - name: replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor
      self: replication_pad3d_backward_symint(grad, self, padding)

## What it cannot see
Which of the two is right, or whether both are: some differ for a reason, or are written in another way, which is why
the rule is in preview. Entries with other mistakes are not compared. Apart from memory formats, formulas with several
differences are not reported, nor are those where one adds or removes an argument.

## Sources
PyTorch pull request 67829 (slow_conv_transpose3d).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.siblings import odd_parts
from derivlint.lint import (
    AnalysisDepth,
    Confidence,
    Finding,
    Invalid,
    Related,
    RuleMeta,
    Severity,
    SupersededBy,
    Within,
)
from derivlint.lint.engine.precedence import SLIP, UNCOMPILED, WRONG_SHAPE, WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="arguments",
    confidence=Confidence.LOW,
    status="preview",
    compares=True,
    yields_to=(
        UNCOMPILED,
        WRONG_VALUE,
        WRONG_SHAPE,
        SupersededBy(SLIP.rules, "the slip itself is known", Within.FORMULA),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # another argument
    """\
- name: upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor
  self: upsample_nearest1d_backward_symint(grad, output_size, self.sym_sizes(), scales)
- name: upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor
  self: upsample_nearest2d_backward_symint(grad, output_size, self.sym_sizes(), scales_h, scales_w)
""",
    # the number of dimensions
    """\
- name: max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, \
int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor
  grad_output: max_pool_double_backward(grad, indices, 2)
- name: max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, \
int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor
  grad_output: max_pool_double_backward(grad, indices, 3)
""",
)

INVALID = (
    Invalid(
        at="4:43-60",
        message='"grad.contiguous()" is the only difference from "replication_pad2d", which has "grad"',
        help='write "grad", unless the operators differ there',
    ),
    Invalid(
        """\
- name: reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor
  self: reflection_pad2d_backward_symint(grad, self.contiguous(), padding)
- name: reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor
  self: reflection_pad3d_backward_symint(grad, self.detach(), padding)
""",
        at="4:53-59",
        message='"detach" is the only difference from "reflection_pad2d", which has "contiguous"',
        help='write "contiguous", unless the operators differ there',
    ),
    # the memory format
    Invalid(
        """\
- name: mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, \
SymInt[] dilation, SymInt groups) -> Tensor
  self, weight, bias: "grad.defined() ? convolution_backward_symint(grad.contiguous(self.suggest_memory_format()), \
self, weight, bias->sym_sizes(), stride, padding, dilation, false, std::vector<c10::SymInt>(padding.size(), 0), \
groups, grad_input_mask) : std::tuple<Tensor, Tensor, Tensor>()"
- name: miopen_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, \
SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic) -> Tensor
  self, weight, bias: "grad.defined() ? convolution_backward_symint(grad.contiguous(), self, weight, \
bias->sym_sizes(), stride, padding, dilation, false, std::vector<c10::SymInt>(padding.size(), 0), groups, \
grad_input_mask) : std::tuple<Tensor, Tensor, Tensor>()"
""",
        at="4:74-86",
        message='"contiguous()" is the only difference from "mkldnn_convolution", which has '
        '"contiguous(self.suggest_memory_format())"',
        help='write "contiguous(self.suggest_memory_format())", unless the operators differ there',
    ),
    # beside another difference
    Invalid(
        """\
- name: cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, \
bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)
  input, weight, bias: "grad.defined() ? (training ? cudnn_batch_norm_backward(input, \
grad.contiguous(input.suggest_memory_format()), weight, running_mean, running_var, result1, result2, epsilon, \
retain_variables ? result3.clone() : result3) : native_batch_norm_backward(grad, input, weight, running_mean, \
running_var, result1, result2, training, epsilon, grad_input_mask)) : std::tuple<Tensor, Tensor, Tensor>()"
- name: miopen_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, \
bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor)
  input, weight, bias: "grad.defined() ? (training ? miopen_batch_norm_backward(input, grad.contiguous(), weight, \
running_mean, running_var, result1, result2, epsilon) : native_batch_norm_backward(grad, input, weight, \
running_mean, running_var, result1, result2, training, epsilon, grad_input_mask)) : \
std::tuple<Tensor, Tensor, Tensor>()"
""",
        at="4:93-105",
        message='"contiguous()" differs from "cudnn_batch_norm", which has "contiguous(input.suggest_memory_format())"',
        help='write "contiguous(input.suggest_memory_format())", unless the operators differ there',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Compare the formulas of sibling operators."""
    for odd in odd_parts(model, entry):
        sibling = quoted(odd.sibling.entry.operator or "")
        differs = "is the only difference" if odd.is_only else "differs"
        yield Finding(
            odd.written.range(odd.start, odd.end),
            f"{quoted(odd.text)} {differs} from {sibling}, which has {quoted(odd.sibling_text)}",
            help=f"write {quoted(odd.sibling_text)}, unless the operators differ there",
            related=(Related(f"the formula of {sibling}", odd.sibling.range(*odd.counterpart)),),
            at=odd.written,
            # a memory format is right whatever else is wrong with the sibling
            rests_on=(odd.written.entry.operator or "", odd.sibling.entry.operator or "") if odd.is_only else (),
        )
