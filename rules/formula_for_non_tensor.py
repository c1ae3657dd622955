"""An argument that is not a tensor has a backward formula.

## What it detects
A backward key with an argument whose type is neither ``Tensor`` nor a list or an optional of tensors.

## Why it is bad
Gradients flow to tensors only. PyTorch's generator rejects the key with "Missing arguments for derivatives".

## Example
    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      self: handle_r_to_c(self.scalar_type(), grad)
      alpha: (grad * other).sum()

## Instead
    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      self: handle_r_to_c(self.scalar_type(), grad)
      other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))

## Fix safety
Removing a formula is unsafe: it may have been written for another argument.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``gen_differentiable_input`` and ``find_args_with_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.edits import removal_fix
from derivlint.lint.engine.precedence import JOINED_ENTRIES
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula, EntryFunction, Role
from derivlint.model.generated.forward import TANGENT

META = RuleMeta(
    severity=Severity.ERROR,
    group="keys",
    checks=("G2", "F3"),
    yields_to=(JOINED_ENTRIES,),
)

VALID = (
    """\
- name: cat(Tensor[] tensors, int dim=0) -> Tensor
  tensors: cat_tensors_backward(grad, to_args_sizes_sym(tensors), to_args_scalartypes(tensors), dim)
""",
)

INVALID = (
    Invalid(
        at="3:3-8",
        message='"alpha" of "add.Tensor" is of type "Scalar", which has no gradient',
        help='a formula can be given for "self" or "other"',
    ),
    Invalid(
        """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
  alpha: zeros_like(grad)
""",
        at="4:3-8",
        message='"alpha" of "add.Tensor" is of type "Scalar", which has no gradient',
        help='a formula can be given for "self" or "other"',
        fixed="""\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
""",
    ),
    Invalid(
        """\
- name: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  self, dim: sum_backward(grad, self.sym_sizes(), dim, keepdim)
""",
        at="2:9-12",
        message='"dim" of "sum.dim_IntList" is of type "int[1]?", which has no gradient',
        help='a formula can be given for "self"',
        fixed="  self: sum_backward(grad, self.sym_sizes(), dim, keepdim)",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Find names of arguments that cannot have a gradient."""
    function = formula.entry.function
    if function is None or formula.role is not Role.BACKWARD or formula.text is None:
        return
    seen = set()
    for name, resolved in formula.resolved_names:
        binding = resolved.argument
        if binding is None or binding.is_tensor_like or resolved.output is not None or name.text in seen:
            continue
        seen.add(name.text)
        kind = "TensorOptions" if binding.argument is None else str(binding.argument.type)
        yield Finding(
            formula.name_span(name),
            f'{quoted(name.text)} of "{formula.entry.operator}" is of type "{kind}", which has no gradient',
            help=_cure(function),
            fix=_fix(formula),
        )


def _fix(formula: DerivativeFormula) -> Fix | None:
    """Remove the arguments without gradient from the key, or the whole line."""
    names = [
        name.text for name, resolved in formula.resolved_names if resolved.argument and resolved.argument.is_tensor_like
    ]
    if not names:
        function = formula.entry.function
        differentiated = [sibling for sibling in formula.body.formulas if not sibling.says_non_differentiable]
        written = {name.text for sibling in differentiated for name in sibling.names}
        tensors = function.tensor_arguments if function is not None else ()
        variables = {word.text for word in formula.parsed.words if word.role == "variable"}
        # without other tensor formulas, or for a forward formula, the key is wrong
        is_forward = formula.auto is not None or any(name + TANGENT in variables for name in tensors)
        if not written.issuperset(tensors) or is_forward:
            return None
        return removal_fix(formula, "remove the formula")
    text = formula.key_written_with(names)
    return Fix("remove it from the key", (TextEdit(formula.key_span, text),), safe=False) if text is not None else None


def _cure(function: EntryFunction) -> str:
    names = function.tensor_arguments
    return f"a formula can be given for {quoted_list(names, 'or')}" if names else "the operator takes no tensor"
