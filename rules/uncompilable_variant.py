"""A formula does not compile in another variant of the operator that reuses it.

## What it detects
A formula that compiles for its own operator, but not where PyTorch reuses it: rewritten for the in-place function, for
the ``_copy`` variant of a view, or for a foreach function, where every value becomes the element of a list.

## Why it is bad
The C++ compiler reports an error in generated code, for a function that the entry does not name.

## Example
    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      self: grad
      other: maybe_multiply(grad, alpha.conj())
      result: Tensor() + maybe_multiply(other_t, alpha)

## Instead
A forward formula that an in-place function reuses depends on the tangent of ``self``:

    - name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      self: grad
      other: maybe_multiply(grad, alpha.conj())
      result: self_t + maybe_multiply(other_t, alpha)

## Sources
torchgen/api/autograd.py, ``match_differentiability_info`` and ``gen_foreach_derivativeinfo``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNCOMPILED, WRONG_VALUE
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import fact
from derivlint.lint.wording import quoted
from derivlint.model.generated.evaluation import Origin
from derivlint.model.generated.typing import FormulaProblem

META = RuleMeta(
    severity=Severity.ERROR,
    group="types",
    checks=("X7",),
    yields_to=(UNCOMPILED, WRONG_VALUE),
    reads=AnalysisDepth.TYPES,
)

VALID = (
    """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
  result: auto_element_wise
""",
)

INVALID = (
    Invalid(
        """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
  result: Tensor() + maybe_multiply(other_t, alpha)
""",
        at="4:11-52",
        message='"add_.Tensor" shares this formula, and there "self_t_raw" is not declared',
        also=("missing-tangent",),
    ),
    Invalid(
        """\
- name: sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(-grad, alpha.conj()))
  result: Tensor() - maybe_multiply(other_t, alpha)
""",
        at="4:11-52",
        message='"sub_.Tensor" shares this formula, and there "self_t_raw" is not declared',
        also=("missing-tangent",),
    ),
)


@judges(FormulaProblem)
def check(problem: FormulaProblem) -> Iterator[Finding]:
    """Check the formulas that PyTorch rewrites for other functions."""
    evaluation = problem.evaluation
    if evaluation.origin is not Origin.YAML:
        yield Finding(
            problem.where,
            f"{quoted(str(evaluation.function.name))} shares this formula, and there {fact(problem.problem)}",
            help=f"PyTorch rewrites it to {quoted(evaluation.text)}" if len(evaluation.text) <= LONG else None,
            at=problem.written,
        )


#: The maximum length of a quoted formula.
LONG = 160
