"""A forward key uses a wrong name for an output.

## What it detects
``result`` for an operator with several outputs, and ``result`` or ``result<i>`` for an output whose name is another:
``result0`` where there is one output only, or where the schema names the outputs.

## Why it is bad
Outputs have exactly one name in formulas and in the generated code: the name in the schema, else ``result`` for a
single output and ``result0``, ``result1`` for several. PyTorch's generator rejects some of the other names and copies
the rest into C++, where they are not declared.

## Example
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
      result0: gather_with_keepdimed_indices(self_t, dim, indices, keepdim)

## Instead
    - name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
      self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
      values: gather_with_keepdimed_indices(self_t, dim, indices, keepdim)

## Fix safety
The fix is safe: the index identifies the output. ``result`` for one of several outputs has no fix.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_forward_derivative``; torchgen/api/cpp.py, ``return_names``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import FOREIGN_KEY
from derivlint.lint.judging import judges
from derivlint.lint.wording import counted, listed, quoted
from derivlint.model import DerivativeFormula, EntryFunction, NameKind, Output, Role

META = RuleMeta(
    severity=Severity.ERROR,
    group="keys",
    checks=("L10", "X4"),
    yields_to=(FOREIGN_KEY,),
)

VALID = (
    """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0: std_backward(result0, self_p, result0, dim, correction, keepdim) * self_t
  result1: mean(self_t, dim.value_or(IntArrayRef({})), keepdim)
""",
    """\
- name: acosh_(Tensor(a!) self) -> Tensor(a!)
  self: not_implemented("inplace version of acosh")
  result: self_t.copy_(original_self_t / (original_self_p.pow(2) - 1).sqrt())
""",
)

INVALID = (
    Invalid(
        """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
  result: gather_with_keepdimed_indices(self_t, dim, indices, keepdim)
""",
        at="4:3-9",
        message='"result" is ambiguous: "max.dim" has 2 outputs',
        help='the outputs are "values" and "indices"',
    ),
    Invalid(
        at="3:3-10",
        message='output 0 of "max.dim" is called "values", not "result0"',
        fixed="  values: gather_with_keepdimed_indices(self_t, dim, indices, keepdim)",
    ),
    Invalid(
        """\
- name: exp2(Tensor self) -> Tensor
  self: grad * result.conj() * M_LN2
  result0: self_t * result * M_LN2
""",
        at="3:3-10",
        message='the output of "exp2" is called "result", not "result0"',
        fixed="  result: self_t * result * M_LN2",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find wrong names of outputs."""
    function = formula.entry.function
    if function is None or formula.role is not Role.FORWARD or formula.says_non_differentiable:
        return
    if function.canonical.name.is_foreach and function.is_inplace:
        # another rule reports entries for in-place foreach operators
        return
    operator = formula.entry.operator
    for name, resolved in formula.resolved_names:
        if resolved.kind is not NameKind.GENERIC_OUTPUT:
            continue
        if resolved.output is not None:
            yield Finding(
                formula.name_span(name),
                f"{_position(function, resolved.output)} of {quoted(operator or '')} is called "
                f"{quoted(resolved.output.key_name)}, not {quoted(name.text)}",
                help=listed("output", function.output_names),
                fix=_rename(formula, resolved.output, TextEdit(formula.name_span(name), resolved.output.key_name)),
            )
        elif resolved.index is None:
            reason = f'"result" is ambiguous: "{operator}" has {counted(len(function.outputs), "output")}'
            if not function.outputs:
                reason = f'"{operator}" has no output that "result" could mean'
            yield Finding(formula.name_span(name), reason, help=listed("output", function.output_names))


def _position(function: EntryFunction, output: Output) -> str:
    return "the output" if len(function.outputs) == 1 else f"output {output.index}"


def _rename(formula: DerivativeFormula, output: Output, edit: TextEdit) -> Fix | None:
    named = {name.text for sibling in formula.body.formulas for name in sibling.names}
    if edit.text in named or not formula.key.exact:
        return None
    return Fix(f'rename it to "{output.key_name}"', (edit,))
