"""A forward formula is given for an output that has no tangent.

## What it detects
A forward key with an output whose type is neither ``Tensor`` nor a list of tensors.

## Why it is bad
Only tensors carry tangents. PyTorch's generator rejects anything else, an optional tensor too, with "Unsupported output
type for forward derivative".

## Example
    - name: _scaled_dot_product_flash_attention(...) -> (Tensor output, ..., SymInt max_q, ...)
      max_q: query_t

## Instead
    - name: _scaled_dot_product_flash_attention(...) -> (Tensor output, ..., SymInt max_q, ...)
      output: flash_attention_jvp(query_t, query_p)

## Fix safety
Removing a formula is unsafe: it may have been written for another output.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_fw_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import removal_fix
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, NameKind, Role

META = RuleMeta(severity=Severity.ERROR, group="keys", checks=("G8",))

#: Operators that return something else beside a tensor.
NATIVES = """\
- func: counted_relu(Tensor self) -> (Tensor values, int count)
  dispatch:
    CPU: counted_relu
- func: optional_relu(Tensor self) -> (Tensor values, Tensor? mask)
  dispatch:
    CPU: optional_relu
"""

VALID = (
    """\
- name: exp2(Tensor self) -> Tensor
  self: grad * result.conj() * M_LN2
  result: self_t * result * M_LN2
""",
    """\
- name: split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
  self: split_with_sizes_backward(grads, split_sizes, dim, self.sym_sizes(), self.options())
  result: auto_linear
""",
)

INVALID = (
    Invalid(
        """\
- name: counted_relu(Tensor self) -> (Tensor values, int count)
  output_differentiability: [True, False]
  self: grad * (values > 0)
  count: self_t
""",
        at="4:3-8",
        message='output "count" of "counted_relu" is of type "int", which has no tangent',
        natives=NATIVES,
        fixed="""\
- name: counted_relu(Tensor self) -> (Tensor values, int count)
  output_differentiability: [True, False]
  self: grad * (values > 0)
""",
    ),
    Invalid(
        """\
- name: optional_relu(Tensor self) -> (Tensor values, Tensor? mask)
  self: grads[0] + grads[1]
  values: self_t * (self_p > 0)
  mask: self_t
""",
        at="4:3-7",
        message='output "mask" of "optional_relu" is of type "Tensor?", which has no tangent',
        natives=NATIVES,
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find outputs that cannot have a tangent."""
    if formula.role is not Role.FORWARD or formula.says_non_differentiable:
        return
    for name, resolved in formula.resolved_names:
        output = resolved.output
        if resolved.kind is NameKind.OUTPUT and output is not None and not output.has_tangent:
            yield Finding(
                formula.name_span(name),
                f'output {quoted(name.text)} of "{formula.entry.operator}" is of type "{output.type}", '
                "which has no tangent",
                help='only outputs of type "Tensor" or "Tensor[]" can have a forward formula',
                fix=removal_fix(formula, "remove the formula")
                if len(formula.names) == 1 and not output.type.is_tensor_like
                else None,
            )
