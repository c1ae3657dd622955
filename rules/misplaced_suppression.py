"""A suppression comment is not attached to anything.

## What it detects
A comment ``# derivlint: ignore[...]`` that is neither on the line of a key nor directly above one: with a blank line
below it, or after the last entry. And ``# derivlint: ignore-file[...]`` after a value or indented.

## Why it is bad
It has no effect.

## Example
    # derivlint: ignore[undefined-name] the helper is ours

    - name: neg(Tensor self) -> Tensor
      self: grad * negative_one

## Instead
    # derivlint: ignore[undefined-name] the helper is ours
    - name: neg(Tensor self) -> Tensor
      self: grad * negative_one

## Sources
None: the places are derivlint's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.suppressions.suppression_comments import IGNORE_FILE
from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse
from derivlint.lint.wording import quoted

META = RuleMeta(severity=Severity.WARNING, group="suppressions")

VALID = (
    """\
# derivlint: ignore[undefined-name] the helper is ours
# (see the header)
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one
""",
    """\
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one

# derivlint: ignore-file[undefined-name]
""",
    """\
- name: neg(Tensor self) -> Tensor
  self: "grad
    * negative_one" # derivlint: ignore[undefined-name]
""",
)

INVALID = (
    Invalid(
        at="1:1-36",
        message="the suppression is neither on the line of a key or entry nor directly above one",
        also=("undefined-name",),
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one
# derivlint: ignore[undefined-name]
""",
        at="3:1-36",
        message="the suppression is neither on the line of a key or entry nor directly above one",
        also=("undefined-name",),
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one # derivlint: ignore-file[undefined-name]
""",
        at="2:29-69",
        message='"ignore-file" must be on a line of its own, without indentation',
        help='put it at the beginning of the file, or write "ignore" for this line only',
        also=("undefined-name",),
    ),
)


@judges(SuppressionsInUse)
def check(suppressions: SuppressionsInUse) -> Iterator[Finding]:
    """Find suppressions without a scope."""
    for placed in suppressions.placed:
        suppression = placed.suppression
        # around invalid YAML, positions are unknown
        if placed.scope is not None or suppression.malformed is not None or suppressions.model.document.problems:
            continue
        if suppression.kind == IGNORE_FILE:
            message = f"{quoted(IGNORE_FILE)} must be on a line of its own, without indentation"
            help_text = 'put it at the beginning of the file, or write "ignore" for this line only'
        else:
            message = "the suppression is neither on the line of a key or entry nor directly above one"
            help_text = "put the comment on the line of a key, or directly above one without a blank line"
        yield Finding(suppression.head, message, help=help_text)
