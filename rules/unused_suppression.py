"""A suppression silences nothing.

## What it detects
A name in ``# derivlint: ignore[...]`` or ``# derivlint: ignore-file[...]`` whose rule checked what the comment covers
and found nothing, and a name that is listed twice.

A suppression is not reported if the rule did not check the code: it is not selected, it crashed there, the file is not
valid YAML, the operator of the entry is not known, the entry holds for a version that was not checked, a formula of the
entry has an error, or the analysis that the rule needs (syntax tree, types, abstract interpretation) is not available.

## Why it is bad
The comment is stale. It would hide the next mistake of the same kind.

## Example
    - name: neg(Tensor self) -> Tensor
      self: grad.neg() # derivlint: ignore[undefined-name] the helper is ours

## Instead
    - name: neg(Tensor self) -> Tensor
      self: grad.neg()

## Fix safety
The fix is safe: it deletes the name, or the comment with its reason where no other name is left.

## Sources
None: the comments are derivlint's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.suppressions.suppression_edits import deletion
from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse
from derivlint.lint.wording import quoted_list

META = RuleMeta(severity=Severity.WARNING, group="suppressions")

VALID = (
    """\
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one # derivlint: ignore[undefined-name] the helper is ours
""",
    """\
# derivlint: ignore-file[undefined-name]
- name: neg(Tensor self) -> Tensor
  dispatch:
    Default:
      # derivlint: ignore[undefined-name]
      self: grad * negative_one
""",
    """\
- name: neg(Tensor self) -> Tensor # derivlint: ignore[undefined-name]
  self: |
    grad * negative_one
""",
)

INVALID = (
    Invalid(
        at="2:20-55",
        message='there is no finding of "undefined-name" here',
        help="delete the suppression",
        fixed="  self: grad.neg()",
    ),
    Invalid(
        """\
- name: complex(Tensor real, Tensor imag) -> Tensor
  # derivlint: ignore[undefined-member, accidental-save, undefined-function] saved for nothing
  real: at::real(grad)
""",
        at="2:3-77",
        message='there is no finding of "undefined-member" or "undefined-function" here',
        help="delete the names",
        fixed="  # derivlint: ignore[accidental-save] saved for nothing",
    ),
    Invalid(
        """\
# derivlint: ignore-file[undefined-name]
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="1:1-41",
        message='there is no finding of "undefined-name" in the file',
        fixed="""\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
    ),
)


@judges(SuppressionsInUse)
def check(suppressions: SuppressionsInUse) -> Iterator[Finding]:
    """Find names that suppress no finding."""
    source = suppressions.model.source
    for placed in suppressions.placed:
        unused = suppressions.unused_names(placed)
        if not unused:
            continue
        suppression = placed.suppression
        names = list(dict.fromkeys(suppression.names[position].text for position in unused))
        where = "here" if placed.scope is not None and placed.scope.line is not None else "in the file"
        if suppressions.uses(placed).issuperset(names):
            message = f"{quoted_list(names)} {'is' if len(names) == 1 else 'are'} named twice"
        else:
            message = f"there is no finding of {quoted_list(names, 'or')} {where}"
        dropped = set(unused)
        remaining = [name.text for position, name in enumerate(suppression.names) if position not in dropped]
        if remaining:
            edit = TextEdit(suppression.inside, ", ".join(remaining))
            part = "names" if len(unused) > 1 else "name"
        else:
            edit = TextEdit(deletion(source, suppression), "")
            part = "suppression"
        fix = Fix(f"delete the {part}", (edit,))
        yield Finding(suppression.head, message, help=f"delete the {part}", fix=fix, at=placed.entry)
