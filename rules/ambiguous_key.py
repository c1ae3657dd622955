"""A key names something that is both an argument and an output.

## What it detects
A key with a name that the operator has among its arguments and among its returns.

## Why it is bad
PyTorch's generator distinguishes backward from forward formulas by what the key names, and fails with an assertion
where both readings are possible.

## Example
    - name: _cudnn_attention_forward(...) -> (..., Tensor cum_seq_q, Tensor cum_seq_k, ...)
      cum_seq_q: non_differentiable

## Instead
Leave the key out. A tensor argument without a formula has no gradient anyway; an output is switched off with
``output_differentiability``.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``set_up_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula

META = RuleMeta(severity=Severity.ERROR, group="keys", checks=("L8",))

#: An operator that takes and returns ``seed``.
NATIVES = """\
- func: noise_forward(Tensor self, Tensor seed) -> (Tensor out, Tensor seed)
  dispatch:
    CPU: noise_forward
"""

VALID = (
    """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_tensor_backward(grad, other, self.scalar_type())
  other: mul_tensor_backward(grad, self, other.scalar_type())
  result: other_t * self_p + self_t * other_p
""",
    """\
- name: sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), true)
""",
)

INVALID = (
    Invalid(
        """\
- name: noise_forward(Tensor self, Tensor seed) -> (Tensor out, Tensor seed)
  output_differentiability: [True, False]
  self: grad * self
  seed: non_differentiable
""",
        at="4:3-7",
        message='"seed" is both an argument and an output of "noise_forward"',
        natives=NATIVES,
    ),
    Invalid(
        """\
- name: noise_forward(Tensor self, Tensor seed) -> (Tensor out, Tensor seed)
  output_differentiability: [True, False]
  self, seed: noise_backward(grad)
""",
        at="3:9-13",
        message='"seed" is both an argument and an output of "noise_forward"',
        natives=NATIVES,
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find names in a key that are ambiguous."""
    for name, resolved in formula.resolved_names:
        if resolved.argument is not None and resolved.output is not None:
            yield Finding(
                formula.name_span(name),
                f'{quoted(name.text)} is both an argument and an output of "{formula.entry.operator}"',
                help="remove it from the keys: torchgen cannot tell which one is meant",
            )
