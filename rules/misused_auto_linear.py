"""auto_linear is used where it cannot be expanded.

## What it detects
``auto_linear`` next to another forward formula, in a key with several outputs, or in an entry where no argument has a
backward formula, or a list of tensors has one.

## Why it is bad
PyTorch's generator expands the word to a call of the operator itself, with the tangents of all differentiable arguments
in their places. That gives one formula for one output, and requires differentiable arguments. The generator rejects the
entry, except for a list of tensors: its tangents do not exist, which only the C++ compiler reports.

## Example
    - name: split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
      result: auto_linear

## Instead
    - name: split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
      self: split_with_sizes_backward(grads, split_sizes, dim, self.sym_sizes(), self.options())
      result: auto_linear

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``postprocess_forward_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.engine.precedence import JOINED_ENTRIES, UNNAMED_KEY
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import cure_for_lists
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DispatchBody, Role
from derivlint.model.generated.forward import packed_lists
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR
from derivlint.model.keywords import is_clear

META = RuleMeta(
    severity=Severity.ERROR, group="syntax", checks=("L25", "L26", "X6"), yields_to=(UNNAMED_KEY, JOINED_ENTRIES)
)

VALID = (
    """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
  result: auto_linear
""",
    # it may be used in place, and with several differentiable arguments
    """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
  result: auto_linear
""",
)

INVALID = (
    Invalid(
        at="2:11-22",
        message=(
            '"auto_linear" needs to know the differentiable arguments, but "split_with_sizes" has no backward formula'
        ),
        help="give the arguments in which the operator is linear their backward formulas",
    ),
    Invalid(
        """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0: std_backward(result0, self_p, result0, dim, correction, keepdim) * self_t
  result1: auto_linear
""",
        at="4:12-23",
        message='"auto_linear" must be the only forward formula, but "std_mean.correction" has 2',
        help="write out the forward formula",
        also=("mismatched-argument",),
    ),
    Invalid(
        """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0, result1: auto_linear
""",
        at="3:21-32",
        message='"auto_linear" is for one output, but its key names 2: "result0" and "result1"',
        help="write out the forward formula",
    ),
    Invalid(
        """\
- name: cat(Tensor[] tensors, int dim=0) -> Tensor
  tensors: cat_tensors_backward(grad, to_args_sizes_sym(tensors), to_args_scalartypes(tensors), dim)
  result: auto_linear
""",
        at="3:11-22",
        message='"auto_linear" needs the tangents of "tensors", and a list of tensors has none in formulas',
        help='call a function that takes "tensors" and reads the tangents itself, as "cat_jvp" does',
    ),
)

WRITE_OUT = "write out the forward formula"


@judges(DispatchBody)
def check(body: DispatchBody) -> Iterator[Finding]:
    """Find the first precondition of ``auto_linear`` that a dispatch key's formulas violate."""
    forward = body.with_role(Role.FORWARD)
    formula = next((formula for formula in forward if formula.auto == AUTO_LINEAR), None)
    if formula is None or body.info is None or not is_clear(body):
        return
    operator = quoted(body.entry.operator or "")
    outputs = [name.text for name in formula.names]
    packed = packed_lists(body.info)
    cure = WRITE_OUT
    related: tuple[Related, ...] = ()
    if not body.info.args_with_derivatives:
        fact = f"needs to know the differentiable arguments, but {operator} has no backward formula"
        cure = "give the arguments in which the operator is linear their backward formulas"
    elif len(forward) > 1:
        # misused-auto-element-wise reports the other keyword
        if any(sibling.auto == AUTO_ELEMENT_WISE for sibling in forward):
            return
        fact = f"must be the only forward formula, but {operator} has {len(forward)}"
        related = tuple(
            Related("another forward formula", sibling.key_span) for sibling in forward if sibling is not formula
        )
    elif len(set(outputs)) > 1:
        fact = f"is for one output, but its key names {len(outputs)}: {quoted_list(outputs)}"
    elif packed:
        fact = f"needs the tangents of {quoted_list(packed)}, and a list of tensors has none in formulas"
        cure = cure_for_lists(packed)
    else:
        return
    yield Finding(formula.value_span, f'"{AUTO_LINEAR}" {fact}', help=cure, related=related, at=formula)
