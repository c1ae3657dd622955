"""An entry has formulas, but the operator is not differentiable.

## What it detects
A backward formula of an operator, or of a variant that the formulas also serve, that PyTorch lists as not
differentiable, or that has no differentiable output.

## Why it is bad
The generated kernel would not use the formula. PyTorch's generator rejects it with "derivative ignored", without a
reason. The cause can be elsewhere: the output of an in-place variant is called ``self``, so that ``self:
non_differentiable`` switches it off, although the out-of-place operator is fine.

## Example
    - name: argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
      self: grad

## Instead
    - name: argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
      output_differentiability: [False]

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_body`` and ``DONT_REQUIRE_DERIVATIVE``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.model import Differentiability, DispatchBody, Entry, Model, Role
from derivlint.model.keywords import near_keyword

META = RuleMeta(severity=Severity.ERROR, group="differentiability", checks=("G3",))

VALID = (
    # mm has no in-place variant, whose output would be "self"
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: non_differentiable
  mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
""",
)

INVALID = (
    Invalid(
        at="2:3-7",
        message='"argmax" is among the operators that PyTorch never differentiates, so its formulas are rejected',
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  output_differentiability: [False]
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
""",
        at="3:3-7",
        message='no output of "mm" is differentiable, so its formulas are rejected',
    ),
    Invalid(
        """\
- name: equal(Tensor self, Tensor other) -> bool
  self: zeros_like(other)
""",
        at="2:3-7",
        message='"equal" returns no tensor, so its formulas are rejected',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self: non_differentiable
  other: grad * -self / (self * self + other * other)
""",
        at="2:3-7",
        message='"self" is non_differentiable, but also the output of "atan2_", which the formulas serve',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the first function of each entry and dispatch key whose kernel would ignore the formulas."""
    switched_off: set[int] = set()
    for body in entry.bodies:
        formulas = body.with_role(Role.BACKWARD)
        if not formulas or not body.is_resolved or _names_an_output(body) or any(map(near_keyword, body.formulas)):
            continue
        for differentiability in model.differentiabilities_of(body):
            if not differentiability.is_ignored:
                continue
            # other rules report names that cannot have a formula, and switched off in-place outputs
            declared = differentiability.info.output_differentiability
            is_known = differentiability.undifferentiable_names or (differentiability.is_inplace and declared)
            # declarations of an entry apply to all dispatch keys
            if not is_known and body.entry.index not in switched_off:
                yield _finding(body, differentiability)
                if declared:
                    switched_off.add(body.entry.index)
            break


def _names_an_output(body: DispatchBody) -> bool:
    """Whether ``non_differentiable`` accidentally switches off an output."""
    formulas = body.with_role(Role.NON_DIFFERENTIABLE)
    return any(resolved.argument is None for formula in formulas for _, resolved in formula.resolved_names)


def _finding(body: DispatchBody, differentiability: Differentiability) -> Finding:
    formula = body.with_role(Role.BACKWARD)[0]
    name = differentiability.function.name
    own = body.entry.function is not None and differentiability.function is body.entry.function.canonical
    formulas = "its formulas" if own else "the formulas that serve it"
    declared = body.entry.output_differentiability
    if differentiability.is_declared_undifferentiable:
        return Finding(
            formula.key_span,
            f'"{name}" is among the operators that PyTorch never differentiates, so {formulas} are rejected',
            help="remove the formulas; torchgen lists the operator in DONT_REQUIRE_DERIVATIVE",
            at=body,
        )
    if differentiability.info.output_differentiability is None:
        for declaration in body.with_role(Role.NON_DIFFERENTIABLE):
            for key_name in declaration.names:
                if differentiability.is_inplace and key_name.text == "self":
                    return Finding(
                        declaration.name_span(key_name),
                        f'"self" is non_differentiable, but also the output of "{name}", which the formulas serve',
                        help='remove "self": an argument without formula has no gradient',
                        at=declaration,
                    )
    is_tensor = any(value.type.is_tensor_like for value in differentiability.returns)
    related = (
        () if declared is None else (Related("the outputs are switched off here", body.entry.place(declared.node)),)
    )
    return Finding(
        formula.key_span,
        f'no output of "{name}" is differentiable, so {formulas} are rejected'
        if is_tensor
        else f'"{name}" returns no tensor, so {formulas} are rejected',
        help="remove the formulas" + (", or set a value of output_differentiability to True" if is_tensor else ""),
        related=related,
        at=body,
    )
