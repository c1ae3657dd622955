"""PyTorch's generator rejects a formula that is correct.

## What it detects
A correct formula whose text PyTorch's generator mistakes for an error: the word ``grads`` in a string beside ``grad``,
``.sizes()`` in a string, ``f(grads,grads[0])`` without a space, or a primal that ``auto_element_wise`` cannot
substitute because the formula reads ``self*self``.

## Why it is bad
The generator matches text with patterns that take one character on each side of a name. It rejects the entry with a
misleading message, and the build stops.

## Example
    - name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
      self: f(grads,grads[0], exponent)

## Instead
    - name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
      self: f(grads, grads[0], exponent)

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``check_grad_usage``, ``saved_variables`` and
``postprocess_forward_derivatives``; torchgen/utils.py, ``IDENT_REGEX``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import Word
from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, DispatchBody, Model, Role
from derivlint.model.generated.forward import misread_base_name
from derivlint.model.generated.gradients import MIXED, MIXED_NAMED, misread_gradients
from derivlint.model.words import sizes_in_text

META = RuleMeta(
    severity=Severity.ERROR,
    group="syntax",
    checks=("L13", "L14", "L15", "L18", "L19", "L20", "L21"),
    yields_to=(
        SupersededBy(("python-in-formula",), "an automatic formula is made of the one with the slip", Within.ENTRY),
    ),
)

VALID = (
    """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: 'checked(grad, mat2, "the sizes of mat2")'
""",
    """\
- name: sin(Tensor self) -> Tensor
  self: grad * self * self
  result: auto_element_wise
""",
)

INVALID = (
    Invalid(
        at="2:11-16",
        message='torchgen counts one "grads" too few, treats "grads[0]" as the only one and rejects it',
        help='put a space between the two uses of "grads"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: 'grad * checked(self, "see grads")'
""",
        at="2:36-41",
        message='torchgen mistakes "grads" in a string for a gradient used together with "grad" and rejects it',
        help='write a word other than "grads"',
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: 'checked(grad, mat2, "needs mat2.sizes()")'
""",
        at="2:42-47",
        message='torchgen mistakes "sizes()" in a string for a call and rejects it',
        help='write a word other than "sizes"',
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: grad * (self*self)
  result: auto_element_wise
""",
        at="3:11-28",
        message='torchgen does not replace every "self" with its primal and rejects those that are left',
        help='put spaces around the operators in the formula of "self"',
        also=("wrong-gradient",),
    ),
)


@judges(DispatchBody, Model)
def check(body: DispatchBody, model: Model) -> Iterator[Finding]:
    """Check the formulas of one dispatch key as torchgen matches them."""
    if model.natives.are_of_framework:
        return
    misread = misread_gradients(body)
    if misread is not None:
        refusal, formula, word = misread
        where = formula.span_of(word)
        if word.role in PLACES:
            notation = "a named gradient" if refusal == MIXED_NAMED else '"grad"' if word.text != "grad" else '"grads"'
            beside = (
                f"a gradient used together with {notation}" if refusal in (MIXED, MIXED_NAMED) else "the only gradient"
            )
            message = f"torchgen mistakes {quoted(word.text)} {PLACES[word.role]} for {beside} and rejects it"
            yield Finding(where, message, help=_other_word(word), at=formula)
        else:
            message = 'torchgen counts one "grads" too few, treats "grads[0]" as the only one and rejects it'
            yield Finding(where, message, help='put a space between the two uses of "grads"', at=formula)
    for formula in body.formulas:
        if formula.role is Role.BACKWARD and formula.text is not None:
            yield from _sizes(formula)
        elif formula.role is Role.FORWARD:
            yield from _base_names(formula)


PLACES = {
    "string": "in a string",
    "comment": "in a comment",
    "member": "in the name of a member",
    "qualified": "in a qualified name",
}


def _sizes(formula: DerivativeFormula) -> Iterator[Finding]:
    for word in sizes_in_text(formula.parsed):
        message = f"torchgen mistakes {quoted(word.text + '()')} {PLACES[word.role]} for a call and rejects it"
        yield Finding(formula.span_of(word), message, help=_other_word(word), at=formula)


def _base_names(formula: DerivativeFormula) -> Iterator[Finding]:
    for name, word in misread_base_name(formula):
        if word is None:
            yield Finding(
                formula.value_span,
                f"torchgen does not replace every {quoted(name)} with its primal and rejects those that are left",
                help=f"put spaces around the operators in the formula of {quoted(name)}",
                at=formula,
            )
        else:
            place = PLACES.get(word.role, "")
            message = f"torchgen mistakes {quoted(name)} {place} for the argument without its suffix and rejects it"
            yield Finding(formula.span_of(word), message, help=_other_word(word), at=formula)


def _other_word(word: Word) -> str:
    return f"write a word other than {quoted(word.text)}"
