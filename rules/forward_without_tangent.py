"""A forward formula uses no tangent.

## What it detects
A formula of an output without ``x_t`` of any differentiable argument. Operators that take a single list of tensors are
exempt, since the function that the formula calls unpacks the tangents; foreach operators are not exempt.

## Why it is bad
A forward formula computes the tangent of an output, which is linear in the tangents of the arguments: without any of
them it is zero or wrong. PyTorch's generator rejects it; for a foreach operator it writes an empty condition, on which
the C++ compiler stops.

## Example
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
      mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
      result: at::mm(self_p, mat2_p)

## Instead
    - name: mm(Tensor self, Tensor mat2) -> Tensor
      self: mm_mat1_backward(grad, mat2, self.sym_sizes(), self.sym_strides(), self.layout(), 1)
      mat2: mm_mat2_backward(grad, self, mat2.sym_sizes(), mat2.sym_strides(), mat2.layout(), 1)
      result: at::mm(self_t, mat2_p) + at::mm(self_p, mat2_t)

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_fw_derivatives`` (``get_any_has_fw_grad_cond``).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import SLIP, UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted_list
from derivlint.model import DerivativeFormula, Differentiability, DispatchBody, Entry, Model, Role
from derivlint.model.generated.forward import ORIGINAL_TANGENT, SELF_PRIMAL, base_name_uses
from derivlint.model.keywords import is_clear
from derivlint.model.scope import undeclared_names, visible_tangents
from derivlint.model.words import mentions
from derivlint.operators.special import NOT_IMPLEMENTED

META = RuleMeta(severity=Severity.ERROR, group="tangents", checks=("G7",), yields_to=(UNCOMPILED, SLIP))

VALID = (
    # the function unpacks the tangents of the list
    """\
- name: stack(Tensor[] tensors, int dim=0) -> Tensor
  tensors: stack_tensors_backward(grad, dim, to_args_scalartypes(tensors))
  result: stack_jvp(tensors, dim)
""",
    # the mistake is the undeclared tangent
    """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: slef_t * self_p.cos()
""",
)

INVALID = (
    Invalid(
        at="4:11-33",
        message='the forward formula of "result" uses no tangent',
        help='the tangents are "self_t" and "mat2_t"',
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  result: result * 2
""",
        at="2:11-21",
        message='the forward formula of "result" uses no tangent, because no argument has a backward formula',
        help="give the differentiable arguments their backward formulas",
    ),
    Invalid(
        """\
- name: acosh_(Tensor(a!) self) -> Tensor(a!)
  self: not_implemented("inplace version of acosh")
  result: original_self_t / (original_self_p.pow(2) - 1).sqrt()
""",
        at="3:11-64",
        message='the forward formula of "result" uses no tangent but "original_self_t"',
        help='write the new tangent into the old one with "self_t.copy_(...)"',
        also=("wrong-tangent",),
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
  result: not_implemented("neg")
""",
        at="3:11-33",
        message='the forward formula of "result" uses no tangent',
        help="remove the formula: forward mode is then reported as not implemented",
    ),
    Invalid(
        """\
- name: _foreach_div.List(Tensor[] self, Tensor[] other) -> Tensor[]
  self: div_tensor_self_backward(grads[i], other[i], self[i].scalar_type())
  other: div_tensor_other_backward(grads[i], self[i], other[i])
  result: (self_p - other_p * result[i]) / other_p
""",
        at="4:11-51",
        message='the forward formula of "result" uses no tangent',
        help='the tangents are "self_t" and "other_t"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas without a tangent, if a kernel of their entry tests for tangents."""
    for body in entry.bodies:
        formulas = [formula for formula in body.with_role(Role.FORWARD) if _lacks_tangent(formula)]
        if not formulas or not is_clear(body):
            continue
        if any(_needs_tangents(kernel) for kernel in model.differentiabilities_of(body)):
            # without differentiable arguments, report the first one only
            for formula in formulas if visible_tangents(formulas[0]) else formulas[:1]:
                yield _finding(formula, body)


def _needs_tangents(differentiability: Differentiability) -> bool:
    """Whether a kernel evaluates the forward formulas after testing for a tangent."""
    if not differentiability.is_generated or differentiability.is_inplace_foreach:
        return False
    # kernels of foreach operators unpack lists themselves
    unpacks = differentiability.is_foreach or not differentiability.takes_single_tensor_list
    return differentiability.requires_derivative and unpacks


def _lacks_tangent(formula: DerivativeFormula) -> bool:
    """Whether the formula uses no tangent, and its names are valid."""
    forward = formula.forward
    if forward is None or forward.required_inputs_fw_grad or formula.says_non_differentiable:
        return False
    proper = formula.parsed.tree is not None and all(
        resolved.output is not None and resolved.output.has_tangent for _, resolved in formula.resolved_names
    )
    function = formula.entry.function
    # another rule reports "self_p" of an in-place operator
    overwrites_self = function is not None and function.is_inplace and mentions(formula.parsed, SELF_PRIMAL)
    return proper and not overwrites_self and not undeclared_names(formula) and not base_name_uses(formula)


def _finding(formula: DerivativeFormula, body: DispatchBody) -> Finding:
    outputs = quoted_list([name.text for name in formula.names])
    message = f"the forward formula of {outputs} uses no tangent"
    tangents = visible_tangents(formula)
    if mentions(formula.parsed, ORIGINAL_TANGENT):
        message = f'{message} but "{ORIGINAL_TANGENT}"'
        cure = 'write the new tangent into the old one with "self_t.copy_(...)"'
    elif any(word.text == NOT_IMPLEMENTED and word.role == "callee" for word in formula.parsed.words):
        cure = "remove the formula: forward mode is then reported as not implemented"
    elif tangents:
        cure = f"the tangent{' is' if len(tangents) == 1 else 's are'} {quoted_list(tangents)}"
    elif body.with_role(Role.BACKWARD):
        message = f"{message}, because only lists of tensors have a backward formula"
        cure = "only a list of tensors that is the single differentiable argument can do without one"
    else:
        message = f"{message}, because no argument has a backward formula"
        cure = "give the differentiable arguments their backward formulas"
    return Finding(formula.value_span, message, help=cure, at=formula)
