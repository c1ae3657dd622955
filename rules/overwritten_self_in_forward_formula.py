"""The forward formula of an in-place operator uses a value that is overwritten.

## What it detects
``self_p`` in the forward formula of an entry that is written for an in-place operator.

## Why it is bad
The formula is evaluated after the operator has run, when ``self`` holds the result: ``self_p`` would be the new value
where the old one is meant, so PyTorch's generator rejects it.

## Example
    - name: polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
      self: grad * polygamma(n + 1, self)
      result: self_t.mul_(polygamma(n + 1, self_p))

## Instead
    - name: polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
      self: grad * polygamma(n + 1, self)
      result: self_t.mul_(polygamma(n + 1, original_self_p))

## Fix safety
The fix uses the old value, which makes the kernel keep a copy. It is unsafe, because the result, which needs no copy,
may be meant.

## Sources
torchgen/api/autograd.py, ``match_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import inplace_problems
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Entry, Model
from derivlint.model.generated.forward import ORIGINAL_PRIMAL, SELF_PRIMAL, MatchProblemKind
from derivlint.model.scope import visible_tangents
from derivlint.model.words import mentions, occurrences, variable_uses

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("M1",))

VALID = (
    # the generator passes the original value to the in-place variant
    """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: self_t * self_p.cos()
""",
)

INVALID = (
    Invalid(
        at="3:40-46",
        message='"self_p" is overwritten: "polygamma_" is in-place, and "self" holds its result',
        help='use "original_self_p" for the old value or "result" for the new one',
        fixed="  result: self_t.mul_(polygamma(n + 1, original_self_p))",
    ),
    Invalid(
        """\
- name: sin_(Tensor(a!) self) -> Tensor(a!)
  self: not_implemented("inplace version of sin")
  result: self_t.copy_(original_self_t * self_p.cos())
""",
        at="3:42-48",
        message='"self_p" is overwritten: "sin_" is in-place, and "self" holds its result',
        help='use "original_self_p" for the old value or "result" for the new one',
        fixed="  result: self_t.copy_(original_self_t * original_self_p.cos())",
    ),
    # "original_self_p" is misspelt
    Invalid(
        """\
- name: sin_(Tensor(a!) self) -> Tensor(a!)
  self: not_implemented("inplace version of sin")
  result: self_t.mul_(original self_p.cos())
""",
        at="3:32-38",
        message='"self_p" is overwritten: "sin_" is in-place, and "self" holds its result',
        help='use "original_self_p" for the old value or "result" for the new one',
        also=("invalid-formula-syntax",),
    ),
    # without a tangent in the formula, the tangent is meant
    Invalid(
        """\
- name: eq_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
  self: zeros_like(self)
  result: self_p.zero_()
""",
        at="3:11-17",
        message='"self_p" is overwritten: "eq_.Scalar" is in-place, and "self" holds its result',
        help='use "self_t" for its tangent, "original_self_p" for the old value or "result" for the new one',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the formulas that the generator rejects because of ``self_p``."""
    for _, formula in inplace_problems(entry, model, MatchProblemKind.PRIMAL_OF_SELF):
        # another rule reports keywords that expand to this
        if formula.auto is None:
            yield _finding(formula)


def _finding(formula: DerivativeFormula) -> Finding:
    uses = variable_uses(formula.parsed, SELF_PRIMAL)
    where = formula.value_span
    for word in (*uses, *occurrences(formula.parsed, SELF_PRIMAL))[:1]:
        where = formula.span_of(word)
    fix = None
    cure = f'use {quoted(ORIGINAL_PRIMAL)} for the old value or "result" for the new one'
    if not any(mentions(formula.parsed, tangent) for tangent in visible_tangents(formula)):
        cure = f'use "self_t" for its tangent, {quoted(ORIGINAL_PRIMAL)} for the old value or "result" for the new one'
    elif uses and formula.is_exact() and not formula.parsed.problems:
        edits = tuple(TextEdit(formula.span_of(word), ORIGINAL_PRIMAL) for word in uses)
        fix = Fix(f"use the old value, {quoted(ORIGINAL_PRIMAL)}", edits, safe=False)
    return Finding(
        where,
        f'{quoted(SELF_PRIMAL)} is overwritten: "{formula.entry.operator}" is in-place, and "self" holds its result',
        help=cure,
        fix=fix,
        at=formula,
    )
