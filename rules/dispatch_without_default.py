"""An entry has formulas for specific dispatch keys but not for Default.

## What it detects
An entry whose ``dispatch`` names backends ("AutogradCUDA", "AutogradNestedTensor", ...) without ``Default``, for an
operator that has a kernel elsewhere and does not consist of differentiable operators.

## Why it is bad
The keys under ``dispatch`` replace the formulas of ``Default`` for their backends. Without ``Default``, tensors of all
other backends have no autograd kernel with a derivative, and the gradient stops there.

## Example
    - name: gelu(Tensor self, *, str approximate='none') -> Tensor
      dispatch:
        AutogradCUDA:
          self: gelu_backward(grad, self, approximate)

## Instead
    - name: gelu(Tensor self, *, str approximate='none') -> Tensor
      dispatch:
        Default:
          self: gelu_backward(grad, self, approximate)

## What it cannot see
Which backends have kernels is read from the operator's ``dispatch`` in native_functions.yaml; kernels that an extension
registers are not known. Where "missing-default-key" reports the entry, this rule does not.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``gen_variable_type_func``; the notes at the head of derivatives.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.dispatch import bodies_without_default
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.WARNING, group="dispatch", reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: gelu(Tensor self, *, str approximate='none') -> Tensor
  dispatch:
    Default:
      self: gelu_backward(grad, self, approximate)
    AutogradCUDA:
      self: gelu_backward(grad.contiguous(), self, approximate)
""",
    # without formulas for "AutogradNestedTensor" it is a function of differentiable operators
    """\
- name: matmul(Tensor self, Tensor other) -> Tensor
  dispatch:
    AutogradNestedTensor:
      self, other: matmul_backward(grad, self, other, grad_input_mask)
""",
)

INVALID = (
    Invalid(
        at="2:3-11",
        message='"gelu" has formulas for "AutogradCUDA" only, and none for "Default"',
        help='write the formulas below "Default"',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  dispatch:
    AutogradCUDA:
      self, other: atan2_backward(grad, self, other, grad_input_mask)
    AutogradNestedTensor:
      self, other: atan2_backward(grad, self, other, grad_input_mask)
""",
        at="2:3-11",
        message='"atan2" has formulas for "AutogradCUDA" and "AutogradNestedTensor" only, and none for "Default"',
        help='write the formulas below "Default"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Report the entries with formulas for specific dispatch keys only."""
    keys = bodies_without_default(model, entry)
    if keys and entry.dispatch_key_node is not None:
        yield Finding(
            entry.place(entry.dispatch_key_node),
            f'{quoted(entry.operator or "")} has formulas for {quoted_list(keys)} only, and none for "Default"',
            help='write the formulas below "Default"',
            at=entry,
        )
