"""The tangent of the output may be the same tensor as the tangent of the input.

## What it detects
A forward formula that may return a tangent unchanged, in the entry of an operator that is neither a view nor in-place:
a bare "self_t" (also in one branch of "?:"), "self_t.conj()" and other views, or a helper that sometimes returns its
argument. Also an "auto_element_wise" that expands a backward formula which returns the gradient.

## Why it is bad
The output is a new tensor and its tangent must be one as well. Otherwise an in-place operation on the output changes
the tangent of the input but not its value, and later derivatives are wrong.

## Example
    - name: frac(Tensor self) -> Tensor
      self: grad
      result: self_t

## Instead
    - name: frac(Tensor self) -> Tensor
      self: grad
      result: self_t.clone()

## Fix safety
Adding ``.clone()`` is unsafe: it is right for an operator that returns a new tensor, and wrong where the operator
should have been declared as a view.

## What it cannot see
Tangents that a helper of FunctionsManual.h returns unchanged.

## Sources
torch/csrc/autograd/autograd_meta.cpp; torchgen/packaged/autograd/gen_variable_type.py, "emit_fw_derivatives".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.aliasing import aliased_tangents
from derivlint.analysis.shapes.compare import shape_judgement_of
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity, SupersededBy, Within
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import UNCOMPILED_HERE, WRONG_DEGREE
from derivlint.lint.judging import judges
from derivlint.lint.shared.typed_edits import with_method
from derivlint.lint.wording import quoted, quoted_list
from derivlint.model import Entry, Model

META = RuleMeta(
    severity=Severity.WARNING,
    group="views",
    yields_to=(
        UNCOMPILED_HERE,
        WRONG_DEGREE,
        SupersededBy(("missing-tangent",), "a part of the formula is missing", Within.FORMULA),
    ),
    reads=AnalysisDepth.SEMANTICS,
)

VALID = (
    """\
- name: alias(Tensor(a) self) -> Tensor(a)
  self: grad
  result: self_t
""",
)

INVALID = (
    Invalid(
        at="3:11-17",
        message='the formula may return the tangent "self_t" itself, but "frac" returns a new tensor',
        help='return a copy, with ".clone()"',
        fixed="  result: self_t.clone()",
    ),
    Invalid(
        """\
- name: fmod.Scalar(Tensor self, Scalar other) -> Tensor
  self: grad
  result: auto_element_wise
""",
        at="3:11-28",
        message=('"auto_element_wise" may return the tangent "self_t" itself, but "fmod.Scalar" returns a new tensor'),
        help='return a copy, with ".clone()"',
    ),
    Invalid(
        """\
- name: fmod.Scalar(Tensor self, Scalar other) -> Tensor
  self: grad
  result: "other.isIntegral(false) ? self_t : self_t * 1.0"
""",
        at="3:11-60",
        message='the formula may return the tangent "self_t" itself, but "fmod.Scalar" returns a new tensor',
        help='return a copy, with ".clone()"',
        fixed='  result: "(other.isIntegral(false) ? self_t : self_t * 1.0).clone()"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas that may return a tangent unchanged."""
    analyses = analyses_of(model)
    misshapen = {wrong.formula.written for wrong in shape_judgement_of(model, entry)}
    for interpretation in analyses.interpretations(entry):
        names = aliased_tangents(interpretation)
        formula = interpretation.formula
        written = formula.written
        # copying an automatic formula's value would leave its sizes wrong
        if not names or (written.auto is not None and written in misshapen):
            continue
        subject = quoted(written.auto) if written.auto is not None else "the formula"
        yield Finding(
            written.value_span,
            f"{subject} may return the tangent {quoted_list(names, 'or')} itself, "
            f"but {quoted(entry.operator or '')} returns a new tensor",
            help='return a copy, with ".clone()"',
            fix=formula_fix(written, 'add ".clone()"', with_method(formula, formula.tree, ".clone()")),
            at=written,
            rests_on=(entry.operator or "",) if written.auto is not None else (),
        )
