"""An entry for a composite operator has no effect.

## What it detects
An entry of a composite operator (``CompositeImplicitAutograd``) that has keys, but no backward formula.

## Why it is bad
No autograd kernel is generated for a composite operator, so everything in the entry is ignored. With a backward formula
PyTorch's generator would reject the entry; without one it is silent.

## Example
    - name: isreal(Tensor self) -> Tensor
      output_differentiability: [False]

## Instead
Remove the entry.

## Sources
torchgen/api/autograd.py, ``dispatch_strategy``; torchgen/packaged/autograd/gen_variable_type.py,
``gen_variable_type_func``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model, Role

META = RuleMeta(severity=Severity.INFO, group="registration", checks=("X10",))

VALID = (
    """\
- name: bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
  output_differentiability: [False]
""",
    """\
- name: exp2(Tensor self) -> Tensor
  self: grad * result.conj() * M_LN2
  result: self_t * result * M_LN2
""",
)

INVALID = (
    Invalid(
        at="1:9-15",
        message='"isreal" is composite (CompositeImplicitAutograd), so its entry has no effect',
    ),
    Invalid(
        """\
- name: absolute(Tensor self) -> Tensor
  self: non_differentiable
""",
        at="1:9-17",
        message='"absolute" is composite (CompositeImplicitAutograd), so its entry has no effect',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find entries that serve composite functions only."""
    if model.layout.composites:
        return
    has_content = bool(entry.formulas) or entry.output_differentiability is not None
    is_clear = all(body.is_resolved and not body.with_role(Role.BACKWARD) for body in entry.bodies)
    matches = model.functions_of(entry)
    if not (has_content and is_clear and matches):
        return
    # foreach functions use the entry of their reference, even of a composite one
    if not any(match.function.is_abstract for match in matches):
        yield Finding(
            entry.name_span,
            f"{quoted(entry.operator or '')} is composite (CompositeImplicitAutograd), so its entry has no effect",
            help="remove the entry; autograd differentiates the operators that it calls",
            at=entry,
        )
