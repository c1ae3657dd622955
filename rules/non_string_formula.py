"""A formula is not a YAML string.

## What it detects
A formula that is empty, or that YAML reads as a number, a boolean, a list or a mapping. A formula that starts with
``{`` or ``[`` is a mapping or a list.

## Why it is bad
Formulas are C++ in YAML strings. PyTorch's generator fails with an AttributeError on any other type.

## Example
    - name: expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
      self: {grad}

## Instead
    - name: expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
      self: "{grad}"

## Fix safety
Quoting a list or mapping in brackets is safe, since the text does not change. Numbers and booleans are unlikely to be
gradients even in quotes, so that fix is unsafe.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``is_forward_derivative_definition`` and
``create_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Fix, Invalid, RuleMeta, Severity, TextEdit
from derivlint.lint.edits import quote_scalar, quote_text
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import kind_of
from derivlint.lint.wording import closest, quoted
from derivlint.model import DerivativeFormula, Entry, Model, NameKind
from derivlint.model.keys import OUTPUT_DIFFERENTIABILITY
from derivlint.yaml_reader import Mapping, Scalar, Sequence

META = RuleMeta(severity=Severity.ERROR, group="yaml", checks=("Y4",))

QUOTE = "put the formula in double quotes"

VALID = (
    """\
- name: abs(Tensor self) -> Tensor
  self: "grad * self.sgn()"
""",
    """\
- name: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
  output_differentiability: [True, False]
  self: value_selecting_reduction_backward_symint(grad, dim, indices, self.sym_sizes(), keepdim)
""",
)

INVALID = (
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self:
  result: auto_element_wise
""",
        at="2:3-7",
        message='the formula of "self" is empty',
        help="write a formula, or remove the key",
    ),
    Invalid(
        """\
- name: round(Tensor self) -> Tensor
  self: 0
""",
        at="2:9-10",
        message='the formula "0" of "self" is an integer in YAML, not a string',
        help='put the formula in double quotes; a gradient that is zero is "zeros_like(grad)"',
    ),
    Invalid(
        at="2:9-15",
        message='the formula of "self" starts with "{", which makes it a mapping to YAML',
        help="put the formula in double quotes",
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: ["grad * self.sgn()"]
""",
        at="2:9-30",
        message='the formula of "self" starts with "[", which makes it a list to YAML',
        help="write the formula without brackets",
        fixed='  self: "grad * self.sgn()"',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self:
    - grad * self.sgn()
""",
        at="3:5-24",
        message='the formula of "self" is a list, not a string',
        help="write one formula after the key",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Report formulas that are not strings."""
    for formula in entry.formulas:
        if formula.text is None and not _is_other_slip(formula) and not model.is_explained(entry, formula.value):
            yield _finding(model, formula)


def _is_other_slip(formula: DerivativeFormula) -> bool:
    """Whether the key is not of a formula, such as a misspelt ``output_differentiability``."""
    if formula.resolved_names:
        return formula.resolved_names[0][1].kind is NameKind.UNKNOWN
    return closest(formula.key_text, (OUTPUT_DIFFERENTIABILITY,)) is not None


def _finding(model: Model, formula: DerivativeFormula) -> Finding:
    node, place, key = formula.value, formula.value_span, quoted(formula.key_text)
    if isinstance(node, Scalar):
        if node.kind == "null":
            where = place if node.value else formula.key_span
            return Finding(
                where, f"the formula of {key} is empty", help="write a formula, or remove the key", at=formula
            )
        help_text = QUOTE
        if node.kind in ("int", "float") and not node.value.strip("+-0."):
            help_text += '; a gradient that is zero is "zeros_like(grad)"'
        return Finding(
            place,
            f"the formula {quoted(node.value)} of {key} is {kind_of(node)} in YAML, not a string",
            help=help_text,
            fix=quote_scalar(formula.entry, node, QUOTE, safe=False),
            at=formula,
        )
    if isinstance(node, Sequence) and node.flow:
        fix = None
        if len(node.items) == 1 and isinstance(node.items[0], Scalar) and node.items[0].kind == "str":
            edits = (TextEdit(place, model.source.slice(formula.entry.place(node.items[0]))),)
            fix = Fix("remove the brackets", edits)
        message = f'the formula of {key} starts with "[", which makes it a list to YAML'
        return Finding(place, message, help="write the formula without brackets", fix=fix, at=formula)
    if isinstance(node, Mapping) and node.flow:
        text = model.source.slice(place)
        fix = Fix(QUOTE, (TextEdit(place, quote_text(text)),)) if text.isprintable() else None
        message = f'the formula of {key} starts with "{{", which makes it a mapping to YAML'
        return Finding(place, message, help=QUOTE, fix=fix, at=formula)
    kind = "list" if isinstance(node, Sequence) else "mapping"
    message = f"the formula of {key} is a {kind}, not a string"
    return Finding(place, message, help="write one formula after the key", at=formula)
