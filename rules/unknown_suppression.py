"""A suppression names a rule that does not exist.

## What it detects
A name in ``# derivlint: ignore[...]`` or ``# derivlint: ignore-file[...]`` that no rule has. Groups of rules belong in
the configuration: a comment names the rule of one reviewed finding.

## Why it is bad
It has no effect: the name is misspelt, or the rule is from another version of derivlint.

## Example
    - name: neg(Tensor self) -> Tensor
      self: grad * negative_one # derivlint: ignore[undefind-name] the helper is ours

## Instead
    - name: neg(Tensor self) -> Tensor
      self: grad * negative_one # derivlint: ignore[undefined-name] the helper is ours

## Fix safety
The fix is unsafe: which rule was meant is a guess.

## Sources
None: the names are derivlint's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.option import GROUPS
from derivlint.lint.suppressions.suppression import NEVER_SILENCED
from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse
from derivlint.lint.wording import closest, quoted

META = RuleMeta(severity=Severity.WARNING, group="suppressions")

VALID = (
    """\
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one # derivlint: ignore[undefined-name, undefined-function]
""",
    """\
# derivlint: ignore-file[undefined-name]
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
)

INVALID = (
    Invalid(
        at="2:49-62",
        message='no rule is called "undefind-name"',
        help='did you mean "undefined-name"?',
        fixed="  self: grad * negative_one # derivlint: ignore[undefined-name] the helper is ours",
        also=("undefined-name",),
    ),
    Invalid(
        """\
# derivlint: ignore-file[E501]
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="1:26-30",
        message='no rule is called "E501"',
        help='"derivlint rules" lists them',
    ),
    Invalid(
        """\
# derivlint: ignore-file[names]
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="1:26-31",
        message='"names" is a group of rules, not a rule',
        help='"derivlint rules" lists them',
    ),
)


@judges(SuppressionsInUse)
def check(suppressions: SuppressionsInUse) -> Iterator[Finding]:
    """Find unknown names in suppressions."""
    for placed in suppressions.placed:
        if placed.suppression.malformed is not None:
            continue
        for name in placed.suppression.names:
            if suppressions.is_known(name.text):
                continue
            if name.text in GROUPS:
                message = f"{quoted(name.text)} is a group of rules, not a rule"
                yield Finding(name.span, message, help='"derivlint rules" lists them', at=placed.entry)
                continue
            near = closest(name.text, suppressions.names.existing - NEVER_SILENCED)
            fix = None
            # the rule may be from a newer version: a wrong guess would be deleted next, as unused
            if near is not None and suppressions.would_silence(placed, near):
                fix = Fix(f"write {quoted(near)}", (TextEdit(name.span, near),), safe=False)
            help_text = f"did you mean {quoted(near)}?" if near is not None else '"derivlint rules" lists them'
            yield Finding(name.span, f"no rule is called {quoted(name.text)}", help=help_text, fix=fix, at=placed.entry)
