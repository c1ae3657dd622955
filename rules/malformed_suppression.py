"""A comment looks like a suppression but is not valid.

## What it detects
A comment that begins with ``# derivlint:`` and is not of the form ``# derivlint: ignore[rule, rule] reason`` or ``#
derivlint: ignore-file[rule, rule] reason``: no brackets, no names, another word, capitals. Also the name of a rule that
cannot be suppressed, such as those about suppressions.

## Why it is bad
It silences nothing. Names are required because a comment without them would also silence later mistakes.

## Example
    - name: acos(Tensor self) -> Tensor
      self: grad * -((-self * self + 1).rsqrt()) # derivlint: ignore

## Instead
    - name: acos(Tensor self) -> Tensor
      self: grad * -((-self * self + 1).rsqrt()) # derivlint: ignore[missing-conjugate] real numbers only

## Fix safety
The fix is safe where only the form is wrong, and a guess where a word or a bracket is missing.

## Sources
None: the form is derivlint's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.suppressions.suppression import NEVER_SILENCED
from derivlint.lint.suppressions.suppression_comments import IGNORE, IGNORE_FILE
from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse
from derivlint.lint.wording import quoted

META = RuleMeta(severity=Severity.WARNING, group="suppressions")
_CONFIGURE = '"ignore" in the configuration switches a rule off'

VALID = (
    """\
- name: neg(Tensor self) -> Tensor
  # derivlint: ignore[undefined-name] the helper is ours
  self: grad * negative_one
""",
    """\
# derivlint ignores nothing here, and this is not a suppression
- name: neg(Tensor self) -> Tensor
  self: grad.neg() # see "derivlint: ignore"
""",
    # block scalars contain no comments
    """\
- name: neg(Tensor self) -> Tensor
  self: |
    grad.neg()
    # derivlint: ignore
""",
)

INVALID = (
    Invalid(
        at="2:59-65",
        message='"ignore" names no rule',
        help='write "ignore[rule, rule] reason"',
        also=("missing-conjugate",),
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one # derivlint: Ignore [undefined-name] the helper is ours
""",
        at="2:29-65",
        message='suppressions are lower case, "derivlint: ignore"',
        fixed="  self: grad * negative_one # derivlint: ignore[undefined-name] the helper is ours",
        also=("undefined-name",),
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one # derivlint: disable[undefined-name]
""",
        at="2:42-49",
        message='"disable" is not a known suppression comment',
        help='did you mean "ignore"?',
        fixed="  self: grad * negative_one # derivlint: ignore[undefined-name]",
        also=("undefined-name",),
    ),
    Invalid(
        """\
# derivlint: ignore-file[undefined-name
- name: neg(Tensor self) -> Tensor
  self: grad * negative_one
""",
        at="1:25-26",
        message='the "[" is never closed',
        help='close it with "]"',
        fixed="# derivlint: ignore-file[undefined-name]",
        also=("undefined-name",),
    ),
    Invalid(
        """\
# derivlint: ignore-file[unused-suppression]
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
""",
        at="1:26-44",
        message='"unused-suppression" cannot be suppressed',
        help='"ignore" in the configuration switches a rule off',
    ),
)


@judges(SuppressionsInUse)
def check(suppressions: SuppressionsInUse) -> Iterator[Finding]:
    """Find malformed suppressions."""
    for placed in suppressions.placed:
        suppression = placed.suppression
        problem = suppression.malformed
        if problem is not None:
            fix = None
            if problem.instead is not None:
                is_form = suppression.kind in (IGNORE, IGNORE_FILE) and bool(suppression.names)
                edit = TextEdit(suppression.head, problem.instead)
                fix = Fix(f"write {quoted(problem.instead.strip())}", (edit,), safe=is_form)
            yield Finding(problem.span, problem.message, help=problem.help, fix=fix, at=placed.entry)
            continue
        for name in suppression.names:
            if name.text in NEVER_SILENCED:
                message = f"{quoted(name.text)} cannot be suppressed"
                yield Finding(name.span, message, help=_CONFIGURE, at=placed.entry)
