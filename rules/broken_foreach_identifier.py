"""The foreach rewrite of a formula breaks an identifier.

## What it detects
The reference formula of a foreach operator that uses a longer name which contains ``grad``, ``result`` or a saved
argument: ``foo_grad(grad, self)``.

## Why it is bad
PyTorch derives the formulas of ``_foreach_abs`` from those of ``abs`` by replacing ``grad`` with ``grads[i]`` wherever
these letters occur. ``foo_grad(grad, self)`` becomes ``foo_grads[i](grads[i], self[i])``, which the C++ compiler
rejects.

## Example
    - name: abs(Tensor self) -> Tensor
      self: scale_grad(grad, self)

## Instead
    - name: abs(Tensor self) -> Tensor
      self: abs_backward(grad, self)

## Sources
torchgen/api/autograd.py, ``gen_foreach_derivativeinfo``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import rewrite_findings
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Entry, Model
from derivlint.model.generated.foreach import ForeachProblem
from derivlint.model.generated.forward import MatchProblemKind
from derivlint.model.generated.gradients import GRADS, gradients_of
from derivlint.model.scope import undeclared_names

META = RuleMeta(severity=Severity.ERROR, group="foreach", checks=("X7",), yields_to=(UNCOMPILED,))

VALID = (
    # atan2 has no foreach variant
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: atan2_grad(grad, self, other, grad_input_mask)
""",
    # in a string the replacement is harmless
    """\
- name: abs(Tensor self) -> Tensor
  self: 'grad * not_implemented("abs: gradient")'
""",
)

INVALID = (
    Invalid(
        at="2:9-19",
        message='"_foreach_abs" shares this formula, in which "scale_grad" becomes "scale_grads[i]"',
        help='use a name that does not contain "grad"',
    ),
    Invalid(
        """\
- name: exp(Tensor self) -> Tensor
  self: grad * with_result(result).conj()
""",
        at="2:16-27",
        message='"_foreach_exp" shares this formula, in which "with_result" becomes "with_result[i]"',
        help='use a name that does not contain "result"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the names in reference formulas of foreach operators."""
    return rewrite_findings(entry, model, MatchProblemKind.BROKEN_IDENTIFIER, _cure, _is_another_slip)


def _cure(problem: ForeachProblem) -> str | None:
    return f"use a name that does not contain {quoted(problem.cause)}" if problem.cause is not None else None


def _is_another_slip(formula: DerivativeFormula, name: str) -> bool:
    """Whether the name is already undeclared in the formula itself."""
    if name == GRADS:
        gradients = gradients_of(formula.body)
        return gradients.conflict is not None or any(item.index > 0 for _, item in gradients.indexed)
    return any(item.word.text == name for item in undeclared_names(formula))
