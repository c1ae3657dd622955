"""A suppression silences nothing.

## What it detects

A name in ``# derivlint: ignore[...]`` or ``# derivlint: ignore-file[...]`` whose rule ran and found nothing there, and
a name that is there twice. Rules that do not run, because they are not selected or crashed, are not judged.

## Why it is bad

What was wrong is mended, and the comment says otherwise. It would silence the next mistake of the kind.

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
from derivlint.lint.suppression import SuppressionsInUse
from derivlint.lint.suppression_edits import deletion
from derivlint.lint.wording import quoted_list

META = RuleMeta(severity=Severity.WARNING)

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
        """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg() # derivlint: ignore[undefined-name] the helper is ours
""",
        at="2:20-55",
        message='"undefined-name" is not found here',
        help="delete the suppression",
        fixed="""\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  # derivlint: ignore[undefined-member, undefined-name, undefined-function] the helper is ours
  self: grad * negative_one
""",
        at="2:3-76",
        message='"undefined-member" and "undefined-function" are not found here',
        help="delete the names",
        fixed="""\
- name: neg(Tensor self) -> Tensor
  # derivlint: ignore[undefined-name] the helper is ours
  self: grad * negative_one
""",
        also=("undefined-name",),
    ),
    Invalid(
        """\
# derivlint: ignore-file[undefined-name]
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="1:1-41",
        message='"undefined-name" is not found in the file',
        fixed="""\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
    ),
)


def check(suppressions: SuppressionsInUse) -> Iterator[Finding]:
    """Look for names that silenced nothing."""
    source = suppressions.model.source
    for index, placed in enumerate(suppressions.placed):
        unused = suppressions.unused_names(index)
        if not unused:
            continue
        suppression = placed.suppression
        names = list(dict.fromkeys(suppression.names[position].text for position in unused))
        where = "here" if placed.scope is not None and placed.scope.line is not None else "in the file"
        if suppressions.used[index].issuperset(names):
            message = f"{quoted_list(names)} {'is' if len(names) == 1 else 'are'} named twice"
        else:
            message = f"{quoted_list(names)} {'is' if len(names) == 1 else 'are'} not found {where}"
        kept = [name.text for position, name in enumerate(suppression.names) if position not in unused]
        if kept:
            edit = TextEdit(suppression.inside, ", ".join(kept))
            what = "names" if len(unused) > 1 else "name"
        else:
            edit = TextEdit(deletion(source, suppression), "")
            what = "suppression"
        fix = Fix(f"delete the {what}", (edit,))
        yield Finding(suppression.head, message, help=f"delete the {what}", fix=fix, at=placed.entry)
