"""An operator whose autograd kernel is written by hand has formulas.

## What it detects
An entry with formulas for an operator whose functions file declares an autograd kernel of the back end: it is listed
under ``autograd:``, or its ``dispatch`` names an autograd key such as ``AutogradPrivateUse1``.

## Why it is bad
Both kernels are registered for one operator and one dispatch key. The handwritten one takes effect, or the one that was
registered last; the formulas are dead, or replace the handwritten kernel.

## Example
    - name: npu_scale(Tensor self, Scalar by) -> Tensor
      self: grad * by

## Instead
Remove the entry, since ``op_plugin_functions.yaml`` has ``npu_scale`` under ``autograd``, or list the operator there
with those that have kernels below autograd (``official:``, ``custom:``).

## Sources
torchgen/gen_backend_stubs.py, ``parse_backend_yaml``: operators under ``autograd`` are registered for the autograd key
of the back end; aten/src/ATen/core/dispatch/OperatorEntry.cpp, ``computeDispatchTableEntryWithDebug``: a kernel for one
autograd key takes precedence over that for ``Autograd``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.WARNING, group="registration")

OPERATORS = """\
autograd:
  - func: npu_scale(Tensor self, Scalar by) -> Tensor
custom:
  - func: npu_shift(Tensor self, Scalar by) -> Tensor
"""
VALID = (
    # an entry that only declares differentiable outputs has no kernel
    """\
- name: bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
  output_differentiability: [False]
""",
    """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
  result: auto_element_wise
""",
)

INVALID = (
    Invalid(
        """\
all_version: [v2.1]
backward:
- name: npu_shift(Tensor self, Scalar by) -> Tensor
  self: grad
- name: npu_scale(Tensor self, Scalar by) -> Tensor
  self: grad * by
""",
        at="5:9-18",
        message='"npu_scale" has a second autograd kernel, apart from that of this entry',
        help="remove the entry, or declare the operator with a kernel below autograd",
        natives=OPERATORS,
    ),
    Invalid(
        """\
- name: twist(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="1:9-14",
        message='"twist_", which the entry also serves, has a second autograd kernel, apart from that of this entry',
        help="remove the entry, or declare the operator with a kernel below autograd",
        natives="""\
- func: twist(Tensor self) -> Tensor
  dispatch:
    PrivateUse1: twist
- func: twist_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    PrivateUse1: twist_
    AutogradPrivateUse1: twist_autograd_
""",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find entries that give an operator a second autograd kernel."""
    if entry.function is None or not entry.formulas:
        return
    for match in model.functions_of(entry):
        if match.function.has_autograd_kernel:
            also = "" if match.function is entry.function.canonical else ", which the entry also serves,"
            yield Finding(
                entry.name_span,
                f"{quoted(str(match.function.name))}{also} has a second autograd kernel, apart from that of this entry",
                help="remove the entry, or declare the operator with a kernel below autograd",
                at=entry,
            )
            return
