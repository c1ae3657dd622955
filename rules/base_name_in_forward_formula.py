"""A forward formula uses a differentiable argument without ``_p`` or ``_t``.

## What it detects
The bare name of an argument that has a backward formula, in the formula of an output. Arguments without backward
formula and lists of tensors keep their names.

## Why it is bad
Where a forward formula is evaluated, the argument is a dual number: ``self`` carries the tangent along. The formula has
to name the value, ``self_p``, or the tangent, ``self_t``. PyTorch's generator rejects the bare name.

## Example
    - name: sin(Tensor self) -> Tensor
      self: grad * self.cos().conj()
      result: self_t * self.cos()

## Instead
    - name: sin(Tensor self) -> Tensor
      self: grad * self.cos().conj()
      result: self_t * self_p.cos()

## Fix safety
The fix uses the value, ``self_p``, or the tangent, ``self_t``, where types and numbers refute the formula with the
other one. It is unsafe, because neither may have been meant.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``postprocess_forward_derivatives`` (``find_required_inputs``).
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import Word
from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, SupersededBy, TextEdit, Within
from derivlint.lint.engine.precedence import JOINED_ENTRIES, UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula
from derivlint.model.generated.forward import ORIGINAL_PRIMAL, PRIMAL, TANGENT, base_name_uses
from derivlint.model.keywords import near_keyword
from derivlint.model.scope import NotDeclared, undeclared_names, visible_tangents
from derivlint.model.words import variable_uses

META = RuleMeta(
    severity=Severity.ERROR,
    group="names",
    checks=("L21",),
    yields_to=(
        UNREAD,
        SupersededBy(
            ("ignored-derivative", "misspelt-keyword", "primal-in-backward-formula", "trailing-semicolon"),
            "the argument has no such formula",
            Within.ENTRY,
        ),
        JOINED_ENTRIES,
    ),
)

VALID = (
    # arguments without backward formula have no primal and tangent; functions unpack lists of tensors
    """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: non_differentiable
  result: self_t.masked_fill(mask, 0)
- name: cat(Tensor[] tensors, int dim=0) -> Tensor
  tensors: cat_tensors_backward(grad, to_args_sizes_sym(tensors), to_args_scalartypes(tensors), dim)
  result: cat_jvp(tensors, dim)
""",
    # the arguments of an unknown operator are unknown
    """\
- name: no_such_operator(Tensor self) -> Tensor
  self: grad
  result: self_t * self
""",
)

INVALID = (
    Invalid(
        at="3:20-24",
        message='"self" is ambiguous in a forward formula: it has a value and a tangent',
        help='use "self_p" for its value or "self_t" for its tangent',
        fixed="  result: self_t * self_p.cos()",
    ),
    Invalid(
        """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_backward(grad, self, other, grad_input_mask)
  result: atan2_jvp(self, other_p)
""",
        at="3:21-25",
        message='"self" is ambiguous in a forward formula: it has a value and a tangent',
        help='use "self_p" for its value or "self_t" for its tangent',
    ),
    # in an in-place kernel "self_p" is the new value
    Invalid(
        """\
- name: polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
  self: grad * polygamma(n + 1, self)
  result: self_t.mul_(polygamma(n + 1, self))
""",
        at="3:40-44",
        message='"self" is ambiguous in a forward formula: it has a value and a tangent',
        help='use "original_self_p" for its value before the call, "result" after it, or "self_t" for its tangent',
        fixed="  result: self_t.mul_(polygamma(n + 1, original_self_p))",
    ),
)


@judges(DerivativeFormula)
def check(formula: DerivativeFormula) -> Iterator[Finding]:
    """Check the plain names of differentiable arguments in one forward formula."""
    info = formula.body.info
    # a formula with gradients is a misplaced backward formula
    if info is None or any(name.reason is NotDeclared.GRADIENT_IN_FORWARD for name in undeclared_names(formula)):
        return
    uses_of_names = tuple(base_name_uses(formula))
    if not uses_of_names:
        return
    misspelt = {
        name.text for sibling in formula.body.formulas if near_keyword(sibling) is not None for name in sibling.names
    }
    for binding, uses in uses_of_names:
        name = binding.name
        if name in misspelt or name in info.non_differentiable_arg_names:
            continue
        primal = name + PRIMAL
        cure = f"use {quoted(primal)} for its value or {quoted(name + TANGENT)} for its tangent"
        function = formula.entry.function
        if name == "self" and function is not None and function.is_inplace:
            primal = ORIGINAL_PRIMAL
            cure = f'use {quoted(primal)} for its value before the call, "result" after it, or "self_t" for its tangent'
        yield Finding(
            formula.span_of(uses[0]),
            f"{quoted(name)} is ambiguous in a forward formula: it has a value and a tangent",
            help=cure,
            fix=tuple(_fixes(formula, uses, name, primal)),
        )


def _fixes(formula: DerivativeFormula, uses: tuple[Word, ...], name: str, primal: str) -> Iterator[Fix]:
    # without any tangent in the formula, a tangent may be missing
    has_tangent = any(variable_uses(formula.parsed, tangent) for tangent in visible_tangents(formula))
    if has_tangent and formula.is_exact():
        for what, text in (("value", primal), ("tangent", name + TANGENT)):
            edits = tuple(TextEdit(formula.span_of(word), text) for word in uses)
            yield Fix(f"use the {what}, {quoted(text)}", edits, safe=False)
