"""The tangent of a view is not a view of the tangent.

## What it detects
A forward formula that makes a new tensor, for an operator that returns a view.

## Why it is bad
An in-place operation on a view changes its base. Forward mode relies on tangents doing the same: the tangent of a view
must be the same view of the tangent. PyTorch checks this at run time and raises.

## Example
    - name: t(Tensor(a) self) -> Tensor(a)
      self: grad.t()
      result: self_t.t().clone()

## Instead
    - name: t(Tensor(a) self) -> Tensor(a)
      self: grad.t()
      result: auto_linear

## Fix safety
Writing ``auto_linear`` is unsafe: it replaces the whole formula.

## What it cannot see
Helpers, and operators that may or may not return a view.

## Sources
torch/csrc/autograd/autograd_meta.cpp, "set_fw_grad".
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.analysis import analyses_of
from derivlint.analysis.dependence.aliasing import is_copied_view
from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.edits import formula_fix
from derivlint.lint.engine.precedence import WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.keys import AUTO_LINEAR

META = RuleMeta(severity=Severity.WARNING, group="views", yields_to=(WRONG_VALUE,), reads=AnalysisDepth.SEMANTICS)

VALID = (
    """\
- name: alias(Tensor(a) self) -> Tensor(a)
  self: grad
  result: self_t
""",
)

INVALID = (
    Invalid(
        at="3:11-29",
        message='"t" returns a view, but the formula makes a new tensor of the tangent',
        help='return the same view of the tangent; "auto_linear" does that',
        fixed="  result: auto_linear",
    ),
    Invalid(
        """\
- name: alias(Tensor(a) self) -> Tensor(a)
  self: grad
  result: self_t * 1
""",
        at="3:11-21",
        message='"alias" returns a view, but the formula makes a new tensor of the tangent',
        help='return the same view of the tangent; "auto_linear" does that',
        fixed="  result: auto_linear",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Find the forward formulas of views that make new tensors."""
    analyses = analyses_of(model)
    for interpretation in analyses.interpretations(entry):
        if is_copied_view(interpretation):
            formula = interpretation.formula.written
            yield Finding(
                formula.value_span,
                f"{quoted(entry.operator or '')} returns a view, but the formula makes a new tensor of the tangent",
                help='return the same view of the tangent; "auto_linear" does that',
                fix=formula_fix(formula, 'write "auto_linear"', [(0, len(formula.parsed.text), AUTO_LINEAR)]),
                at=formula,
            )
