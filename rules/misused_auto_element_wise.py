"""auto_element_wise is used where it cannot be expanded.

## What it detects
``auto_element_wise`` in the entry of an in-place operator, in an entry where not exactly one argument has a backward
formula or that argument is a list of tensors, next to another forward formula, or in a key with several outputs.

## Why it is bad
PyTorch's generator derives the forward formula from the one backward formula: ``grad`` becomes the tangent of the one
argument, and the argument its value. That is defined for one argument and one output, and needs a value of ``self``
that an in-place operator has overwritten. The generator rejects the entry, except for a list: its primals and tangents
do not exist, which only the C++ compiler reports.

## Example
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: auto_element_wise

## Instead
    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
      result: other_t * self_p + self_t * other_p

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``postprocess_forward_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNNAMED_KEY
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import cure_for_lists
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import DerivativeFormula, DispatchBody, Model, Role
from derivlint.model.generated.forward import packed_lists
from derivlint.model.keys import AUTO_ELEMENT_WISE
from derivlint.model.keywords import is_clear

META = RuleMeta(severity=Severity.ERROR, group="syntax", checks=("L22", "L23", "L24", "X6"), yields_to=(UNNAMED_KEY,))

VALID = (
    """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: auto_element_wise
""",
    # the argument meant by "slef" is unknown
    """\
- name: sin(Tensor self) -> Tensor
  slef: grad * self.cos().conj()
  result: auto_element_wise
""",
    """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: non_differentiable
  result: auto_element_wise
""",
)

INVALID = (
    Invalid(
        at="4:11-28",
        message='"auto_element_wise" is for one differentiable argument, but "mul.Tensor" has 2: "self" and "other"',
        help="write out the forward formula",
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  result: auto_element_wise
""",
        at="2:11-28",
        message='"auto_element_wise" is made from a backward formula, but "sin" has none',
        help="give one argument a backward formula",
    ),
    Invalid(
        """\
- name: acosh_(Tensor(a!) self) -> Tensor(a!)
  self: not_implemented("inplace version of acosh")
  result: auto_element_wise
""",
        at="3:11-28",
        message='"auto_element_wise" needs the old value of "self", which the in-place "acosh_" overwrites',
        help='write out the forward formula, with "original_self_p" for the old value',
    ),
    Invalid(
        """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0: auto_element_wise
  result1: mean(self_t, dim.value_or(IntArrayRef({})), keepdim)
""",
        at="3:12-29",
        message='"auto_element_wise" must be the only forward formula, but "std_mean.correction" has 2',
        help="write out the forward formula",
    ),
    Invalid(
        """\
- name: std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) \
-> (Tensor, Tensor)
  self: std_mean_backward(grads[0], grads[1], self, result0, dim, correction, keepdim)
  result0, result1: auto_element_wise
""",
        at="3:21-38",
        message='"auto_element_wise" is for one output, but its key names 2: "result0" and "result1"',
        help="write out the forward formula",
    ),
    Invalid(
        """\
- name: cat(Tensor[] tensors, int dim=0) -> Tensor
  tensors: cat_tensors_backward(grad, to_args_sizes_sym(tensors), to_args_scalartypes(tensors), dim)
  result: auto_element_wise
""",
        at="3:11-28",
        message=(
            '"auto_element_wise" needs the values and tangents of "tensors", and a list of tensors has none in formulas'
        ),
        help='call a function that takes "tensors" and reads the tangents itself, as "cat_jvp" does',
    ),
)

WRITE_OUT = "write out the forward formula"


@judges(DispatchBody, Model)
def check(body: DispatchBody, model: Model) -> Iterator[Finding]:
    """Find the first precondition of ``auto_element_wise`` that a dispatch key's formulas violate."""
    formula = next((formula for formula in body.with_role(Role.FORWARD) if formula.auto == AUTO_ELEMENT_WISE), None)
    if formula is None or body.info is None or body.entry.function is None or not is_clear(body):
        return
    if body.entry.function.is_inplace and not model.natives.has_symbolic_sizes:
        # before PyTorch 1.13, the generator did not distinguish old values
        return
    refusal = _refusal(body, formula)
    if refusal is not None:
        message, cure, related = refusal
        yield Finding(formula.value_span, f'"{AUTO_ELEMENT_WISE}" {message}', help=cure, related=related, at=formula)


def _refusal(body: DispatchBody, formula: DerivativeFormula) -> tuple[str, str, tuple[Related, ...]] | None:
    operator = quoted(body.entry.operator or "")
    function, info = body.entry.function, body.info
    if function is None or info is None:
        return None
    if function.is_inplace:
        cure = f'{WRITE_OUT}, with "original_self_p" for the old value'
        return f'needs the old value of "self", which the in-place {operator} overwrites', cure, ()
    arguments = [binding.name for binding in info.args_with_derivatives]
    forward = body.with_role(Role.FORWARD)
    if not arguments:
        return f"is made from a backward formula, but {operator} has none", "give one argument a backward formula", ()
    if len(arguments) > 1:
        related = tuple(
            Related(f"{quoted_list([name.text for name in sibling.names])} declared here", sibling.key_span)
            for sibling in body.with_role(Role.BACKWARD)
        )
        fact = f"is for one differentiable argument, but {operator} has {len(arguments)}: {quoted_list(arguments)}"
        return fact, WRITE_OUT, related
    if len(forward) > 1:
        related = tuple(
            Related("another forward formula", sibling.key_span) for sibling in forward if sibling is not formula
        )
        return f"must be the only forward formula, but {operator} has {len(forward)}", WRITE_OUT, related
    packed = packed_lists(info)
    if packed:
        fact = f"needs the values and tangents of {quoted_list(packed)}, and a list of tensors has none in formulas"
        return fact, cure_for_lists(packed), ()
    # another rule reports several keys for the same argument
    outputs = [name.text for name in formula.names]
    if len(set(outputs)) > 1:
        return f"is for one output, but its key names {len(outputs)}: {quoted_list(outputs)}", WRITE_OUT, ()
    return None
