"""A forward key names an output with an index that the operator does not have.

## What it detects
``result<i>`` in a key where the operator has ``i`` outputs or fewer.

## Why it is bad
Outputs are counted from 0. PyTorch's generator looks the output up and fails with an IndexError without a location.

## Example
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      result1: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
      result: handle_r_to_c(result.scalar_type(), self_t.conj() * self_p.sgn())

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_forward_derivative``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import counted, listed, quoted
from derivlint.model import DerivativeFormula, NameKind, Role

META = RuleMeta(severity=Severity.ERROR, group="keys", checks=("L11",))

VALID = (
    """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0: std_backward(result0, self_p, result0, dim, correction, keepdim) * self_t
  result1: mean(self_t, dim.value_or(IntArrayRef({})), keepdim)
""",
)

INVALID = (
    Invalid(
        at="3:3-10",
        message='"result1" is out of range: "abs" has 1 output',
        help='the output is "result"',
    ),
    Invalid(
        """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0: std_backward(result0, self_p, result0, dim, correction, keepdim) * self_t
  result2: mean(self_t, dim.value_or(IntArrayRef({})), keepdim)
""",
        at="4:3-10",
        message='"result2" is out of range: "std_mean.correction" has 2 outputs',
        help='the outputs are "result0" and "result1"',
        also=("mismatched-argument",),
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find out-of-range indices of outputs."""
    function = formula.entry.function
    if function is None or formula.role is not Role.FORWARD or formula.says_non_differentiable:
        return
    for name, resolved in formula.resolved_names:
        if resolved.kind is NameKind.GENERIC_OUTPUT and resolved.index is not None and resolved.output is None:
            count = counted(len(function.outputs), "output")
            yield Finding(
                formula.name_span(name),
                f'{quoted(name.text)} is out of range: "{formula.entry.operator}" has {count}',
                help=listed("output", function.output_names),
            )
