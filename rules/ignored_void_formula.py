"""A formula is given for an operator without outputs.

## What it detects
A backward formula of an operator without returns.

## Why it is bad
Without an output there is nothing to differentiate. PyTorch's generator silently drops the formulas of such operators.

## Example
    - name: _cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()
      self: cummaxmin_backward(grad, self, indices, dim)

## Instead
    - name: cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)
      self: cummaxmin_backward(grad, self, indices, dim)

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_body``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model, Role

META = RuleMeta(severity=Severity.WARNING, group="registration", checks=("X11",))

VALID = (
    """\
- name: _cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()
  self: non_differentiable
""",
)

INVALID = (
    Invalid(
        at="2:3-7",
        message='"_cummax_helper" returns nothing, so its formulas have no effect',
    ),
    Invalid(
        """\
- name: _cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()
  values: values.neg()
  self: cummaxmin_backward(values, self, indices, dim)
""",
        at="2:3-9",
        message='"_cummin_helper" returns nothing, so its formulas have no effect',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the first backward formula of each void operator."""
    for body in entry.bodies:
        own = model.canonical_differentiability(body)
        if own is None or not own.is_void or own.is_inplace_foreach or not own.is_generated:
            continue
        formulas = body.with_role(Role.BACKWARD)
        if formulas and own.function.is_abstract:
            yield Finding(
                formulas[0].key_span,
                f"{quoted(body.entry.operator or '')} returns nothing, so its formulas have no effect",
                help="give the formulas to an operator that returns its result",
                at=body,
            )
