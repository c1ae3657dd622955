"""An output is declared non_differentiable.

## What it detects
A forward key, one that names outputs, whose value is ``non_differentiable``.

## Why it is bad
The keyword is only defined for arguments. For an output, PyTorch's generator treats it as a C++ expression, and then
reports a forward formula without a tangent.

## Example
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      indices: non_differentiable

## Instead
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      output_differentiability: [True, False]

## Fix safety
The fix is unsafe: in-place forms of the operator cannot have their output switched off.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``set_up_derivatives``; gen_variable_type.py, ``emit_fw_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import EXCHANGED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DispatchBody, NameKind, Role

META = RuleMeta(
    severity=Severity.ERROR,
    group="differentiability",
    checks=("G7", "X4"),
    yields_to=(EXCHANGED,),
)

VALID = (
    """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: Non_Differentiable
""",
)

INVALID = (
    Invalid(
        at="2:12-30",
        message='"non_differentiable" is for arguments, but "indices" is an output',
        help='write "output_differentiability: [True, False]" instead',
        fixed="  output_differentiability: [True, False]",
    ),
    Invalid(
        """\
- name: mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
  indices: non_differentiable
""",
        at="4:12-30",
        message='"non_differentiable" is for arguments, but "indices" is an output',
        help='write "output_differentiability: [True, False]" instead',
    ),
)


@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Find ``non_differentiable`` under keys of outputs."""
    function = body.entry.function
    if function is None:
        return
    formulas = [formula for formula in body.with_role(Role.FORWARD) if formula.says_non_differentiable]
    switched_off = {
        resolved.output.index
        for formula in formulas
        for _, resolved in formula.resolved_names
        if resolved.kind is not NameKind.ARGUMENT and resolved.output is not None
    }
    flags = ", ".join(str(output.index not in switched_off) for output in function.outputs)
    text = f"output_differentiability: [{flags}]"
    can_be_written = body.key_node is None and body.entry.output_differentiability is None and len(formulas) == 1
    for formula in formulas:
        fix = None
        if can_be_written:
            place = formula.key_span.cover(formula.value_span)
            fix = Fix('use "output_differentiability"', (TextEdit(place, text),), safe=False)
        yield Finding(
            formula.value_span,
            f'"non_differentiable" is for arguments, but {quoted(formula.names[0].text)} is an output',
            help=f"write {quoted(text)} instead",
            fix=fix,
            at=formula,
        )
