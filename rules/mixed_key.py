"""A key names both arguments and outputs.

## What it detects
A key whose first name is an argument and that also names an output, or the other way round.

## Why it is bad
A formula computes either the gradients of arguments or the tangents of outputs. PyTorch's generator decides by the
first name alone and then fails on the others, or counts but does not declare them.

## Example
    - name: abs(Tensor self) -> Tensor
      self, result: grad * self.sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``set_up_derivatives``; gen_variable_type.py,
``find_args_with_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, NameKind, Role

META = RuleMeta(severity=Severity.ERROR, group="keys", checks=("G2", "L9", "X4"))

VALID = (
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
  result: (-self_p * other_t + other_p * self_t) / (self_p.pow(2) + other_p.pow(2))
""",
    """\
- name: linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)
  self: linalg_eig_backward(grads[0], grads[1], eigenvalues, eigenvectors, false)
  eigenvalues, eigenvectors: linalg_eig_jvp(self_t, eigenvalues, eigenvectors, false)
""",
)

INVALID = (
    Invalid(
        at="2:9-15",
        message='the key mixes the argument "self" with the output "result"',
        help="give arguments and outputs keys of their own",
    ),
    Invalid(
        """\
- name: linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)
  eigenvalues, eigenvectors, self: linalg_eig_jvp(self_t, eigenvalues, eigenvectors, false)
""",
        at="2:30-34",
        message='the key mixes the output "eigenvalues" with the argument "self"',
        help="give arguments and outputs keys of their own",
    ),
)

OUTPUTS = (NameKind.OUTPUT, NameKind.GENERIC_OUTPUT)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find the first name of another kind than the key's first name."""
    if formula.role is Role.UNRESOLVED:
        return
    first = formula.names[0].text
    for name, resolved in formula.resolved_names:
        if formula.role is Role.FORWARD and resolved.kind is NameKind.ARGUMENT and resolved.output is None:
            kinds = f"the output {quoted(first)} with the argument {quoted(name.text)}"
        elif formula.role is not Role.FORWARD and resolved.kind in OUTPUTS:
            kinds = f"the argument {quoted(first)} with the output {quoted(name.text)}"
        else:
            continue
        yield Finding(
            formula.name_span(name), f"the key mixes {kinds}", help="give arguments and outputs keys of their own"
        )
        return
