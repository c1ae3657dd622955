"""A forward formula uses the primal or tangent of an argument that has none.

## What it detects
``x_p`` or ``x_t`` where ``x`` has no backward formula, is not a tensor, or is a list of tensors.

## Why it is bad
The generated kernel only unpacks the primal and tangent of arguments with a backward formula. Everything else keeps its
own name, and a list of tensors is passed on to the function that the formula calls. PyTorch's generator copies the
name, and the C++ compiler reports an undeclared identifier.

## Example
    - name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
      self: grad.masked_fill(mask, 0)
      mask: non_differentiable
      result: self_t.masked_fill(mask_p, 0)

## Instead
    - name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
      self: grad.masked_fill(mask, 0)
      mask: non_differentiable
      result: self_t.masked_fill(mask, 0)

## Fix safety
The fix drops the suffix of a primal. It is unsafe, because a backward formula may be missing instead.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_fw_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from derivlint.lint import Finding, Fix, Invalid, Related, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import cure_for_lists
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DispatchBody, Entry, Model, Role
from derivlint.model.generated.forward import PRIMAL, TANGENT, packed_lists
from derivlint.model.keywords import is_clear
from derivlint.model.scope import NotDeclared, UndeclaredName, undeclared_names

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("G7", "X2"), yields_to=(UNREAD,))

VALID = (
    """\
- name: cat(Tensor[] tensors, int dim=0) -> Tensor
  tensors: cat_tensors_backward(grad, to_args_sizes_sym(tensors), to_args_scalartypes(tensors), dim)
  result: cat_jvp(tensors, dim)
""",
    # a composite operator has no kernel
    """\
- name: absolute(Tensor self) -> Tensor
  result: self_t
""",
    # the misspelt key is the mistake
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
  mat: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
  result: at::mm(self_t, mat2_p) + at::mm(self_p, mat2_t)
""",
    # the mistake is the name that the key lacks
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self: atan2_backward(grad, self, other, grad_input_mask)
  result: (-self_p * other_t + other_p * self_t) / (self_p.pow(2) + other_p.pow(2))
""",
)

INVALID = (
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
  result: at::mm(self_t, mat2_p) + at::mm(self_p, mat2_t)
""",
        at="3:26-32",
        message='"mat2_p" is not declared: "mat2" has no backward formula',
        help='give "mat2" a backward formula',
    ),
    Invalid(
        at="4:30-36",
        message='"mask_p" is not declared: "mask" is non_differentiable',
        help='use "mask" itself',
        fixed="  result: self_t.masked_fill(mask, 0)",
    ),
    Invalid(
        """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
  result: self_t + maybe_multiply(other_t, alpha_p)
""",
        at="4:44-51",
        message='"alpha_p" is not declared: "alpha" is not a tensor',
        help='use "alpha" itself',
        fixed="  result: self_t + maybe_multiply(other_t, alpha)",
    ),
    Invalid(
        """\
- name: cat(Tensor[] tensors, int dim=0) -> Tensor
  tensors: cat_tensors_backward(grad, to_args_sizes_sym(tensors), to_args_scalartypes(tensors), dim)
  result: at::cat(tensors_t, dim)
""",
        at="3:19-28",
        message='"tensors_t" is not declared: "tensors" is a list of tensors',
        help='call a function that takes "tensors" and reads the tangents itself, as "cat_jvp" does',
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  result: (-self_p * other_t + other_p * self_t) / (self_p.pow(2) + other_p.pow(2))
""",
        at="2:13-19",
        message='"self_p" is not declared: "self" and "other" have no backward formula',
        help='give "self" and "other" a backward formula',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the primals and tangents in a dispatch key's forward formulas, one finding per argument."""
    for body in entry.bodies:
        if any(undeclared_names(formula) for formula in body.with_role(Role.FORWARD)) and is_clear(body):
            kernels = [kernel for kernel in model.differentiabilities_of(body) if kernel.is_generated]
            # another rule reports formulas that no kernel uses
            if kernels and not any(kernel.is_ignored for kernel in kernels):
                yield from _judge(body)


def _judge(body: DispatchBody) -> Iterator[Finding]:
    info, function = body.info, body.entry.function
    if info is None or function is None:
        return
    undeclared: dict[str, list[UndeclaredName]] = {}
    for formula in body.with_role(Role.FORWARD):
        for name in undeclared_names(formula):
            if name.reason is NotDeclared.NOT_UNPACKED and name.subject is not None:
                undeclared.setdefault(name.subject, []).append(name)
    without: list[str] = []
    for subject, names in undeclared.items():
        argument = function.argument(subject)
        if argument is None or not argument.is_tensor_like:
            yield _itself(names, f"{quoted(subject)} is not a tensor")
        elif subject in info.non_differentiable_arg_names:
            declared = tuple(
                Related("declared here", formula.name_span(name))
                for formula in body.with_role(Role.NON_DIFFERENTIABLE)
                for name in formula.names
                if name.text == subject
            )
            yield _itself(names, f"{quoted(subject)} is non_differentiable", declared)
        elif subject in packed_lists(info):
            reason = f"{quoted(subject)} is a list of tensors"
            yield _finding(names[0], reason, cure_for_lists([subject]))
        else:
            without.append(subject)
    if without:
        # one missing key affects several arguments
        subjects = quoted_list(without)
        reason = f"{subjects} {'has' if len(without) == 1 else 'have'} no backward formula"
        cure = f"give {subjects} a backward formula"
        if not any(name.word.text.endswith(TANGENT) for subject in without for name in undeclared[subject]):
            cure = f"use {subjects} {'itself' if len(without) == 1 else 'themselves'}, or {cure}"
        yield _finding(undeclared[without[0]][0], reason, cure)


def _finding(name: UndeclaredName, reason: str, cure: str) -> Finding:
    where = name.written.span_of(name.word)
    premise = (name.written.entry.operator or "",)
    message = f"{quoted(name.word.text)} is not declared: {reason}"
    return Finding(where, message, help=cure, at=name.written, rests_on=premise)


def _itself(names: list[UndeclaredName], reason: str, related: tuple[Related, ...] = ()) -> Finding:
    """Return the finding on an argument without tangent: its primal is the argument, its tangent zero."""
    subject = names[0].subject or ""
    cure, fix = f"use {quoted(subject)} itself", None
    if names[0].word.text.endswith(TANGENT):
        cure = f"{quoted(subject)} has no tangent; write its value as {quoted(subject)}"
    elif all(name.written.is_exact() and name.word.text.endswith(PRIMAL) for name in names):
        edits = tuple(TextEdit(name.written.span_of(name.word), subject) for name in names)
        fix = Fix(cure, edits, safe=False)
    return replace(_finding(names[0], reason, cure), related=related, fix=fix)
