"""A suppression gives no reason.

## What it detects
``# derivlint: ignore[rule]`` or ``# derivlint: ignore-file[rule]`` with nothing after the bracket. The rule is off by
default; ``require-ignore-reason = true`` in the configuration switches it on.

## Why it is bad
A later reader cannot tell whether the finding was a false positive or the formula is wrong and has not been fixed yet.

## Example
    - name: neg(Tensor self) -> Tensor
      self: grad * negative_one # derivlint: ignore[undefined-name]

## Instead
    - name: neg(Tensor self) -> Tensor
      self: grad * negative_one # derivlint: ignore[undefined-name] declared in our own header

## Sources
None: the comments are derivlint's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse

META = RuleMeta(severity=Severity.WARNING, group="suppressions", status="preview")

VALID = (
    """\
# derivlint: ignore-file[undefined-name] our header declares them
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one
""",
)

INVALID = (
    Invalid(
        at="2:29-64",
        message="the suppression gives no reason",
        help='write it after the "]"',
        also=("undefined-name",),
    ),
    Invalid(
        """\
# derivlint: ignore-file[undefined-name]
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one
""",
        at="1:1-41",
        message="the suppression gives no reason",
        also=("undefined-name",),
    ),
)


@judges(SuppressionsInUse)
def check(suppressions: SuppressionsInUse) -> Iterator[Finding]:
    """Find suppressions without a text after the brackets."""
    for placed in suppressions.placed:
        suppression = placed.suppression
        if suppression.malformed is None and not suppression.reason:
            message = "the suppression gives no reason"
            yield Finding(suppression.head, message, help='write it after the "]"', at=placed.entry)
