"""A formula of an out-of-place operator uses the original value of self.

## What it detects
``original_self_p`` or ``original_self_t`` in a forward formula of an operator that does not modify ``self``.

## Why it is bad
The names exist in kernels of in-place operators only, where ``self`` is overwritten. Elsewhere ``self_p`` is the
original value. PyTorch's generator copies the name, and the C++ compiler reports an undeclared identifier. For the
in-place variant, the generator substitutes the original value for ``self_p``.

## Example
    - name: polygamma(int n, Tensor self) -> Tensor
      self: grad * polygamma(n + 1, self)
      result: self_t * polygamma(n + 1, original_self_p)

## Instead
    - name: polygamma(int n, Tensor self) -> Tensor
      self: grad * polygamma(n + 1, self)
      result: self_t * polygamma(n + 1, self_p)

## Fix safety
The fix is safe: where nothing is overwritten, the names mean ``self_p`` and ``self_t``.

## Sources
torchgen/packaged/autograd/gen_variable_type.py, ``emit_original_self_definition``; torchgen/api/autograd.py,
``match_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula
from derivlint.model.generated.forward import ORIGINAL_PRIMAL, SELF_PRIMAL, SELF_TANGENT
from derivlint.model.scope import NotDeclared, UndeclaredName, undeclared_names, visible_names

META = RuleMeta(severity=Severity.ERROR, group="names", checks=("G7", "X2"), yields_to=(UNREAD,))

VALID = (
    """\
- name: polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
  self: grad * polygamma(n + 1, self)
  result: self_t.mul_(polygamma(n + 1, original_self_p))
""",
)

INVALID = (
    Invalid(
        at="3:37-52",
        message='"original_self_p" is for in-place operators, and "polygamma" does not modify "self"',
        help='use "self_p"',
        fixed="  result: self_t * polygamma(n + 1, self_p)",
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: original_self_t * original_self_p.cos()
""",
        at="3:11-26",
        message='"original_self_t" is for in-place operators, and "sin" does not modify "self"',
        help='use "self_t"',
        fixed="  result: self_t * self_p.cos()",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the names of the original self in a formula; one finding for all."""
    names = [name for name in undeclared_names(formula) if name.reason is NotDeclared.ORIGINAL_SELF]
    if names:
        written = names[0].word.text
        yield Finding(
            formula.span_of(names[0].word),
            f'{quoted(written)} is for in-place operators, and "{formula.entry.operator}" does not modify "self"',
            help=f"use {quoted(_instead(names[0]))}",
            fix=_fix(formula, names),
        )


def _instead(name: UndeclaredName) -> str:
    return SELF_PRIMAL if name.word.text == ORIGINAL_PRIMAL else SELF_TANGENT


def _fix(formula: DerivativeFormula, names: list[UndeclaredName]) -> Fix | None:
    if not formula.is_exact() or SELF_TANGENT not in visible_names(formula):
        return None
    edits = tuple(TextEdit(formula.span_of(name.word), _instead(name)) for name in names)
    return Fix(f"use {quoted(_instead(names[0]))}", edits)
