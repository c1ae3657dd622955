"""A forward key names a list of tensors together with other outputs.

## What it detects
A forward key with several outputs, at least one of them a list of tensors.

## Why it is bad
A formula for several outputs returns a tuple of single tensors. PyTorch's generator rejects a list among them.

## Example
    - name: _cudnn_rnn_backward(...) -> (Tensor, Tensor, Tensor, Tensor[])
      result3, result0: rnn_jvp(input_t, weight_t)

## Instead
    - name: _cudnn_rnn_backward(...) -> (Tensor, Tensor, Tensor, Tensor[])
      result0: rnn_input_jvp(input_t)
      result3: rnn_weight_jvp(input_t)

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_fw_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, NameKind, Role

META = RuleMeta(severity=Severity.ERROR, group="keys", checks=("G9",))

NATIVES = """\
- func: split_off(Tensor self) -> (Tensor head, Tensor[] tail)
  dispatch:
    CPU: split_off
"""

VALID = (
    """\
- name: linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)
  self: linalg_eig_backward(grads[0], grads[1], eigenvalues, eigenvectors, false)
  eigenvalues, eigenvectors: linalg_eig_jvp(self_t, eigenvalues, eigenvectors, false)
""",
    """\
- name: unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
  self: unbind_backward(grads, dim)
  result: auto_linear
""",
)

INVALID = (
    Invalid(
        """\
- name: split_off(Tensor self) -> (Tensor head, Tensor[] tail)
  self: split_off_backward(grads)
  head, tail: split_off_jvp(self_t)
""",
        at="3:9-13",
        message='"tail" is a list of tensors and cannot share a key with other outputs',
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: split_off(Tensor self) -> (Tensor head, Tensor[] tail)
  self: split_off_backward(grads)
  tail, head: split_off_jvp(self_t)
""",
        at="3:3-7",
        message='"tail" is a list of tensors and cannot share a key with other outputs',
        natives=NATIVES,
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find the first tensor list among several outputs."""
    outputs = {name.text for name, resolved in formula.resolved_names if resolved.kind is NameKind.OUTPUT}
    if formula.role is not Role.FORWARD or len(outputs) < 2:
        return
    for name, resolved in formula.resolved_names:
        output = resolved.output
        if resolved.kind is NameKind.OUTPUT and output is not None and output.is_tensor_list and output.has_tangent:
            yield Finding(
                formula.name_span(name),
                f"{quoted(name.text)} is a list of tensors and cannot share a key with other outputs",
                help="give the list a key and a formula of its own",
            )
            return
