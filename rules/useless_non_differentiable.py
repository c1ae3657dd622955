"""An argument that is not a tensor is declared non_differentiable.

## What it detects
``non_differentiable`` for an argument whose type is neither ``Tensor`` nor a list or an optional of tensors.

## Why it is bad
Such an argument never has a gradient, so the declaration has no effect. Often another argument was meant, which then
lacks the declaration.

## Example
    - name: index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
      dim: non_differentiable

## Instead
    - name: index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
      index: non_differentiable

## Fix safety
The fix removes the name from a key with several names, or the line, which does not change the generated code. Where a
tensor has no formula, the line stays: the declaration may be meant for that one.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``set_up_derivatives``; torchgen/api/autograd.py, ``is_differentiable``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.edits import removal_fix
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula, Role

META = RuleMeta(severity=Severity.WARNING, group="differentiability", checks=("X4",))

VALID = (
    """\
- name: index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
  self: index_backward(grad.new_zeros_symint(self.sym_sizes(), self.options()), indices, grad)
  indices: non_differentiable
""",
)

INVALID = (
    # probably another argument is meant, so the line stays
    Invalid(
        at="2:3-6",
        message='"dim" is of type "int" and never differentiable',
        help='remove it, or declare "self" and "index", which have no formula',
    ),
    Invalid(
        """\
- name: index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
  self: grad.index_fill(dim, index, 0)
  dim: non_differentiable
  index: non_differentiable
""",
        at="3:3-6",
        message='"dim" is of type "int" and never differentiable',
        help="remove it: only tensor arguments need a declaration",
        fixed="""\
- name: index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
  self: grad.index_fill(dim, index, 0)
  index: non_differentiable
""",
    ),
    Invalid(
        """\
- name: index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
  self: grad.index_fill(dim, index, 0)
  index, value: non_differentiable
""",
        at="3:10-15",
        message='"value" is of type "Scalar" and never differentiable',
        fixed="  index: non_differentiable",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find declarations without effect."""
    if formula.role is not Role.NON_DIFFERENTIABLE:
        return
    useless = [
        (name, resolved.argument)
        for name, resolved in formula.resolved_names
        if resolved.argument is not None and not resolved.argument.is_tensor_like and resolved.output is None
    ]
    names = {name.text for name, _ in useless}
    text = formula.key_written_with([name.text for name in formula.names if name.text not in names])
    function = formula.entry.function
    # a tensor without a formula may be meant
    lacking = [name for name in function.tensor_arguments if name not in formula.body.keys_with] if function else []
    fix = None
    if len(names) == len(formula.names):
        fix = removal_fix(formula, "remove the declaration", safe=True) if not lacking else None
    elif text is not None:
        fix = Fix("remove it from the key", (TextEdit(formula.key_span, text),))
    help_text = "remove it: only tensor arguments need a declaration"
    if lacking:
        help_text = (
            f"remove it, or declare {quoted_list(lacking)}, which {'has' if len(lacking) == 1 else 'have'} no formula"
        )
    for name, binding in useless:
        kind = "TensorOptions" if binding.argument is None else str(binding.argument.type)
        yield Finding(
            formula.name_span(name),
            f'{quoted(name.text)} is of type "{kind}" and never differentiable',
            help=help_text,
            fix=fix,
        )
