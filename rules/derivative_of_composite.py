"""A composite operator has a backward formula.

## What it detects
A backward formula in an entry of an operator that is composite (``CompositeImplicitAutograd``: it has no dispatch
section of its own), or that has a composite variant which the formula also serves.

## Why it is bad
A composite operator calls other operators, and autograd differentiates those. It has no autograd kernel that could use
the formula, and PyTorch's generator rejects the entry. In the file of a back end, an operator that is composite in
PyTorch needs a kernel of the back end's own for an entry to count.

## Example
    - name: absolute(Tensor self) -> Tensor
      self: grad * self.sgn()

## Instead
Remove the entry; ``absolute`` calls ``abs``, which has a formula. Or give the operator kernels with a ``dispatch``
section in native_functions.yaml.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``gen_variable_type_func``; torchgen/model.py,
``NativeFunction.is_abstract``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.judging import judges
from derivlint.model import Entry, Model, Role

META = RuleMeta(
    severity=Severity.ERROR,
    group="registration",
    checks=("G1",),
    yields_to=(SupersededBy(("misspelt-keyword",), "the entry may be meant to have no formula", Within.ENTRY),),
)

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
""",
    # CompositeExplicitAutograd is a kernel for all backends that needs a derivative
    """\
- name: cat(Tensor[] tensors, int dim=0) -> Tensor
  tensors: cat_tensors_backward(grad, to_args_sizes_sym(tensors), to_args_scalartypes(tensors), dim)
""",
)

INVALID = (
    Invalid(
        at="2:3-7",
        message='"absolute" is composite (CompositeImplicitAutograd) and cannot have a backward formula',
    ),
    Invalid(
        """\
- name: subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(-grad, alpha.conj()))
""",
        at="2:3-7",
        message='"subtract.Tensor" is composite (CompositeImplicitAutograd) and cannot have a backward formula',
    ),
    # the file of a back end without a kernel for the operator
    Invalid(
        """\
all_version: [v2.1]
backward:
- name: l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor
  self: npu_l1_loss_backward(grad, self, target, reduction)
  version: all_version
""",
        at="4:3-7",
        message='"l1_loss" is composite (CompositeImplicitAutograd), and this back end overrides only its backward: no '
        "kernel of it is declared",
    ),
    Invalid(
        """\
- name: twist(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="2:3-7",
        message='"twist_", which the formula also serves, is composite (CompositeImplicitAutograd)',
        natives="""\
- func: twist(Tensor self) -> Tensor
  dispatch:
    CPU: twist
- func: twist_(Tensor(a!) self) -> Tensor(a!)
""",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the entries with backward formulas that serve a composite function."""
    if model.layout.composites or not model.natives.has_composite_keys:
        # before PyTorch 1.8, functions without dispatch table could have formulas
        return
    formula = next((formula for formula in entry.formulas if formula.role is Role.BACKWARD), None)
    if formula is None or entry.function is None:
        return
    for match in model.functions_of(entry):
        if match.function.is_abstract or not any(info.has_derivatives for info in match.infos.values()):
            continue
        if match.function is entry.function.canonical:
            message = (
                f'"{match.function.name}" is composite (CompositeImplicitAutograd) and cannot have a backward formula'
            )
            help_text = (
                "give it a dispatch section in native_functions.yaml if it has kernels of its own, else remove the "
                "entry: autograd differentiates the operators that it calls"
            )
            if model.layout.overrides:
                message = (
                    f'"{match.function.name}" is composite (CompositeImplicitAutograd), and this back end overrides '
                    "only its backward: no kernel of it is declared"
                )
                help_text = (
                    "declare the kernel among the back end's functions if there is one, else remove the entry: "
                    "autograd differentiates the operators that it calls"
                )
        else:
            message = (
                f'"{match.function.name}", which the formula also serves, is composite (CompositeImplicitAutograd)'
            )
            help_text = "give it a dispatch section in native_functions.yaml"
        yield Finding(formula.key_span, message, help=help_text, at=formula)
        return
