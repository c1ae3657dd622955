"""grad_input_mask is indexed beyond the arguments of the key.

## What it detects
``grad_input_mask[i]`` where ``i`` is not below the number of arguments in the key.

## Why it is bad
The mask has one element for each argument in the key. Reading past its end is undefined behavior: gradients may be
missing or computed needlessly.

## Example
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: f(grad, self, other, grad_input_mask[2])

## Instead
    - name: atan2(Tensor self, Tensor other) -> Tensor
      self, other: f(grad, self, other, grad_input_mask[1])

## Sources
torchgen/packaged/autograd/gen_autograd_functions.py, ``emit_derivative``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import Index
from derivlint.lint import Finding, Invalid, Related, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import counted
from derivlint.model import DerivativeFormula, Role
from derivlint.model.generated.gradients import out_of_range_masks

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("X3",), yields_to=(UNREAD,))

VALID = (
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: f(grad, self, other, grad_input_mask[0], grad_input_mask[1])
""",
)

INVALID = (
    Invalid(
        at="2:37-55",
        message='"grad_input_mask[2]" does not exist: the key names 2 arguments',
        help="the last element is grad_input_mask[1]",
    ),
    Invalid(
        """\
- name: addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
  self: maybe_multiply(grad, beta.conj())
  mat, vec: f(grad, mat, vec, grad_input_mask[0], grad_input_mask[5])
""",
        at="3:51-69",
        message='"grad_input_mask[5]" does not exist: the key names 2 arguments',
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the literal indices into the mask in one backward formula."""
    # formulas for a single argument have no mask
    if formula.role is not Role.BACKWARD or formula.text is None or len(formula.names) < 2:
        return
    first: dict[int, Index] = {}
    for node, index in out_of_range_masks(formula):
        first.setdefault(index, node)
    for index, node in first.items():
        yield Finding(
            formula.span_of(node),
            f'"grad_input_mask[{index}]" does not exist: the key names {counted(len(formula.names), "argument")}',
            help=f"the last element is grad_input_mask[{len(formula.names) - 1}]",
            related=(Related("the key", formula.key_span),),
        )
