"""A keyword such as auto_linear is misspelt or misplaced.

## What it detects
A formula that is a single word close to ``auto_linear``, ``auto_element_wise`` or ``non_differentiable`` but not
exactly it: ``Auto_linear``, ``auto linear``, ``elementwise``, ``nondifferentiable``. The same for ``auto_linear`` and
``auto_element_wise`` in a backward formula, where they mean nothing.

## Why it is bad
PyTorch's generator compares the keywords exactly, spaces and case included, and treats anything else as C++. It then
reports a missing tangent, or leaves the undeclared name to the C++ compiler.

## Example
    - name: neg(Tensor self) -> Tensor
      self: grad.neg()
      result: auto-linear

## Instead
    - name: neg(Tensor self) -> Tensor
      self: grad.neg()
      result: auto_linear

## Fix safety
The fix is safe where at most two letters differ, and a guess otherwise. A keyword that is wrong for the operator is not
offered.

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``create_differentiability_info`` and
``postprocess_forward_derivatives``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis.soundness import is_accepted
from derivlint.lint import AnalysisDepth, Finding, Fix, Invalid, RuleMeta, Severity, SupersededBy, TextEdit, Within
from derivlint.lint.judging import judges
from derivlint.lint.wording import distance, quoted
from derivlint.model import DerivativeFormula, Model, Role
from derivlint.model.keys import AUTO_ELEMENT_WISE, AUTO_LINEAR, NON_DIFFERENTIABLE
from derivlint.model.keywords import near_keyword
from derivlint.yaml_reader import Scalar

META = RuleMeta(
    severity=Severity.ERROR,
    group="syntax",
    checks=("G7", "X2"),
    yields_to=(SupersededBy(("formula-for-non-tensor",), "the argument has no formula of any kind", Within.FORMULA),),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    # this word may be written in any case
    """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: " Non_Differentiable"
""",
    """\
- name: neg(Tensor self) -> Tensor
  self: linear(grad)
  result: linear(self_t)
""",
)

INVALID = (
    Invalid(
        at="3:11-22",
        message='"auto-linear" is treated as C++ by torchgen, not as "auto_linear"',
        help='did you mean "auto_linear"?',
        fixed="  result: auto_linear",
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: elementwise
""",
        at="3:11-22",
        message='"elementwise" is treated as C++ by torchgen, not as "auto_element_wise"',
        help='did you mean "auto_element_wise"?',
        fixed="  result: auto_element_wise",
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: auto linear
""",
        at="3:11-22",
        message='"auto linear" is treated as C++ by torchgen, not as "auto_linear"',
        help='did you mean "auto_element_wise", since "auto_linear" is wrong here?',
        fixed="  result: auto_element_wise",
    ),
    Invalid(
        """\
- name: mm(Tensor self, Tensor mat2) -> Tensor
  self: grad.mm(mat2.t().conj())
  mat2: self.t().conj().mm(grad)
  result: auto_linaer
""",
        at="4:11-22",
        message='"auto_linaer" is treated as C++ by torchgen, not as "auto_linear"',
        help='write out the forward formula: "auto_linear" is wrong here',
    ),
    Invalid(
        """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: " auto_element_wise "
""",
        at="3:11-32",
        message='" auto_element_wise " is treated as C++ by torchgen, not as "auto_element_wise": whitespace counts',
        fixed="  result: auto_element_wise",
    ),
    Invalid(
        """\
- name: masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
  self: grad.masked_fill(mask, 0)
  mask: nondifferentiable
  result: self_t.masked_fill(mask, 0)
""",
        at="3:9-26",
        message='"nondifferentiable" is treated as C++ by torchgen, not as "non_differentiable"',
        help='did you mean "non_differentiable"?',
        fixed="  mask: non_differentiable",
    ),
    Invalid(
        """\
- name: neg(Tensor self) -> Tensor
  self: auto_linear
  result: auto_linear
""",
        at="2:9-20",
        message='"auto_linear" is only valid in forward formulas',
        help='write the formula out, with "grad" for the gradient of the output',
    ),
)


@judges(DerivativeFormula, Model)
def check(formula: DerivativeFormula, model: Model) -> Iterator[Finding]:
    """Check a formula of one word."""
    meant = near_keyword(formula)
    if meant is None or formula.text is None or formula.entry.function is None or formula.role is Role.UNRESOLVED:
        return
    is_about_arguments = meant == NON_DIFFERENTIABLE
    where, written = formula.value_span, quoted(" ".join(formula.text.split()))
    if formula.role is Role.BACKWARD and not is_about_arguments:
        if formula.text.strip() == meant:
            message = f"{written} is only valid in forward formulas"
        else:
            message = f"{written} is treated as C++ by torchgen; {quoted(meant)} is for forward formulas only"
        yield Finding(where, message, help='write the formula out, with "grad" for the gradient of the output')
        return
    if formula.role is Role.FORWARD and is_about_arguments:
        message = f"{written} is treated as C++ by torchgen; {quoted(meant)} is for arguments only"
        names = {name.text for name in formula.names}
        flags = ", ".join(str(output.name not in names) for output in formula.entry.function.outputs)
        yield Finding(where, message, help=f'write "output_differentiability: [{flags}]" instead')
        return
    if formula.text.strip() == meant:
        shown = quoted(formula.text) if "\n" not in formula.text else f"{written} with its line break"
        message = f"{shown} is treated as C++ by torchgen, not as {quoted(meant)}: whitespace counts"
        yield Finding(where, message, help=f"write {quoted(meant)} alone", fix=_fix(formula, meant))
        return
    message = f"{written} is treated as C++ by torchgen, not as {quoted(meant)}"
    counterpart = _COUNTERPARTS.get(meant)
    if counterpart is None or is_accepted(model, formula, meant):
        yield Finding(where, message, help=f"did you mean {quoted(meant)}?", fix=_fix(formula, meant))
    elif is_accepted(model, formula, counterpart):
        cure = f"did you mean {quoted(counterpart)}, since {quoted(meant)} is wrong here?"
        yield Finding(where, message, help=cure, fix=_fix(formula, counterpart))
    else:
        yield Finding(where, message, help=f"write out the forward formula: {quoted(meant)} is wrong here")


#: The forward keywords, each with its alternative.
_COUNTERPARTS = {AUTO_LINEAR: AUTO_ELEMENT_WISE, AUTO_ELEMENT_WISE: AUTO_LINEAR}


def _fix(formula: DerivativeFormula, meant: str) -> Fix | None:
    value = formula.value
    if not isinstance(value, Scalar) or value.style not in ("plain", "single", "double") or formula.text is None:
        return None
    is_slip = distance(formula.text.strip().lower(), meant, 2) <= 2
    return Fix(f"write {quoted(meant)}", (TextEdit(formula.value_span, meant),), safe=is_slip)
