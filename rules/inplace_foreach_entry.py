"""An in-place foreach operator has an entry of its own.

## What it detects
An entry whose operator is called ``_foreach_<name>_``, whatever its keys.

## Why it is bad
The kernel of an in-place foreach operator runs the formulas of the operator that it applies to every element, such as
``abs`` for ``_foreach_abs_``. For an entry of its own, the generator compares a list of tensors with an element and
fails with an assertion.

## Example
    - name: _foreach_abs_(Tensor(a!)[] self) -> ()
      self: grads[i] * self[i].sgn()

## Instead
    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_body``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.schema import NativeFunction

META = RuleMeta(severity=Severity.ERROR, group="foreach", checks=("G15",))

VALID = (
    # out-of-place foreach operators may have an entry
    """\
- name: _foreach_minimum.List(Tensor[] self, Tensor[] other) -> Tensor[]
  self: at::where(self[i] == other[i], grads[i] / 2, grads[i]).masked_fill_(self[i] > other[i], 0)
  other: at::where(self[i] == other[i], grads[i] / 2, grads[i]).masked_fill_(self[i] <= other[i], 0)
""",
)

INVALID = (
    Invalid(
        at="1:9-22",
        message='"_foreach_abs_" cannot have an entry, as in-place foreach operators borrow their formulas',
        help='write its formulas in the entry of "abs"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()
- name: _foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
  self: non_differentiable
""",
        at="3:9-29",
        message='"_foreach_mul_.Scalar" cannot have an entry, as in-place foreach operators borrow their formulas',
        help='write its formulas in the entry of "mul"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the entries of in-place foreach operators."""
    for kernel in model.differentiabilities(entry):
        if kernel.is_own_inplace_foreach_entry and kernel.is_generated:
            operator = quoted(str(kernel.function.name))
            yield Finding(
                entry.name_span,
                f"{operator} cannot have an entry, as in-place foreach operators borrow their formulas",
                help=_cure(model, kernel.function),
                at=entry,
            )
            break


def _cure(model: Model, function: NativeFunction) -> str:
    base = function.name.element_base
    if model.natives.with_base(base):
        return f"write its formulas in the entry of {quoted(base)}"
    return "remove the entry"
