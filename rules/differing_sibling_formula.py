"""The formulas of two closely related operators differ in one token.

## What it detects
Two entries whose operators have the same name except for the number of dimensions ("max_pool2d" and "max_pool3d") or
the library ("cudnn_batch_norm" and "miopen_batch_norm"), and whose formulas for the same key differ in a single token.
The number of dimensions itself, and names that differ in the same way, do not count as a difference.

## Why it is bad
Such formulas are copies of one another, and a correction made to one often does not reach the other: the memory format
in "slow_conv_transpose2d" was corrected twenty months before "slow_conv_transpose3d".

## Example
    - name: replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
      self: replication_pad2d_backward_symint(grad, self, padding)
    - name: replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor
      self: replication_pad3d_backward_symint(grad, grad, padding)

## Instead
    - name: replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
      self: replication_pad2d_backward_symint(grad, self, padding)
    - name: replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor
      self: replication_pad3d_backward_symint(grad, self, padding)

## What it cannot see
Which of the two is right, or whether both are: some differ for a reason, which is why the rule is in preview. Two
differences in one formula are not reported, nor one that adds or removes a token.

## Sources
PyTorch pull request 67829 (slow_conv_transpose3d).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.siblings import odd_tokens
from derivlint.lint import AnalysisDepth, Confidence, Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="arguments",
    confidence=Confidence.LOW,
    status="preview",
    compares=True,
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
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
        at="4:49-53",
        message='"grad" is the only difference from "replication_pad2d", which has "self"',
        help="make sure that the operators differ there",
        also=("nonlinear-gradient",),
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
        help="make sure that the operators differ there",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Compare the formulas of sibling operators."""
    for odd in odd_tokens(model, entry):
        sibling = quoted(odd.sibling.entry.operator or "")
        yield Finding(
            odd.written.span_of(odd.token),
            f"{quoted(odd.token.text)} is the only difference from {sibling}, which has {quoted(odd.counterpart.text)}",
            help="make sure that the operators differ there",
            related=(Related(f"the formula of {sibling}", odd.sibling.span_of(odd.counterpart)),),
            at=odd.written,
        )
