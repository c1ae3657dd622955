"""output_differentiability switches off the output of an in-place operator.

## What it detects
``False`` in ``output_differentiability`` of an in-place operator, or of an operator with an in-place variant that the
entry also serves.

## Why it is bad
The output of an in-place operator is ``self``. Autograd would not notice that it was modified, so PyTorch's generator
rejects the entry.

## Example
    - name: digamma(Tensor self) -> Tensor
      output_differentiability: [False]

## Instead
    - name: digamma(Tensor self) -> Tensor
      self: grad * polygamma(1, self)

## Sources
torchgen/api/autograd.py, ``gen_differentiable_outputs``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import WITHOUT_NAME
from derivlint.lint.judging import judges
from derivlint.model import Entry, Model

META = RuleMeta(severity=Severity.ERROR, group="differentiability", checks=("G6",), yields_to=(WITHOUT_NAME,))

VALID = (
    """\
- name: bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
  output_differentiability: [False]
""",
    # eq_.Tensor has an entry of its own
    """\
- name: eq.Tensor(Tensor self, Tensor other) -> Tensor
  output_differentiability: [False]
- name: eq_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  self: zeros_like(self)
  other: zeros_like(other)
  result: self_t.zero_()
""",
)

INVALID = (
    Invalid(
        """\
- name: eq_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  output_differentiability: [False]
""",
        at="2:30-35",
        message='"eq_.Tensor" is in-place, so output_differentiability cannot be False',
    ),
    Invalid(
        at="2:30-35",
        message='"digamma_", which the entry also serves, is in-place, so output_differentiability cannot be False',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the first in-place function of each entry whose output is switched off."""
    declared = entry.output_differentiability
    if declared is None or declared.values is None or False not in declared.values or entry.function is None:
        return
    for differentiability in model.differentiabilities(entry):
        # other rules report a wrong length, and formulas next to an output that is switched off
        if differentiability.outputs is None or (differentiability.is_ignored and not differentiability.is_inplace):
            return
        if differentiability.is_inplace and differentiability.is_generated:
            name = differentiability.function.name
            is_own = differentiability.function is entry.function.canonical
            subject = f'"{name}"' if is_own else f'"{name}", which the entry also serves,'
            yield Finding(
                entry.place(declared.value_node(declared.values.index(False))),
                f"{subject} is in-place, so output_differentiability cannot be False",
                help=f'give "{name}" a formula' if is_own else f'give "{name}" an entry of its own',
                at=entry,
                rests_on=() if is_own else (str(name),),
            )
            return
