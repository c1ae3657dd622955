"""A formula of an in-place operator uses self, which its generated functional variant cannot save.

## What it detects
A backward formula of an in-place or mutable operator that saves ``self`` or a property of it, where PyTorch generates
the functional variant of the operator.

## Why it is bad
The generated functional variant shares the formula, but would save a different ``self``. PyTorch's generator fails with
an assertion.

## Example
    - name: random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
      self: grad * self

## Instead
    - name: random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
      self: zeros_like(grad)

## Sources
torchgen/api/autograd.py, ``match_differentiability_info``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity
from derivlint.lint.judging import judges
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.generated.forward import MatchProblemKind

META = RuleMeta(severity=Severity.ERROR, group="saving", checks=("M4",))

VALID = (
    # mul is written in native_functions.yaml and has its own entry
    """\
- name: mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  self: mul_tensor_backward(grad, other, self.scalar_type())
""",
)

INVALID = (
    Invalid(
        at="2:16-20",
        message=(
            '"self" cannot be saved: the formula also serves the generated "random", whose "self" is not overwritten'
        ),
    ),
    Invalid(
        """\
- name: bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)
  self: f(grad, self.sym_sizes())
  p: bernoulli_p_gradient(grad)
""",
        at="2:17-21",
        message=(
            '"self" cannot be saved: the formula also serves the generated "bernoulli.Tensor", whose '
            '"self" is not overwritten'
        ),
    ),
)

KIND = MatchProblemKind.FUNCTIONAL_NEEDS_SELF


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the values that formulas of in-place operators save."""
    problems = [problem for problem in model.match_problems(entry) if problem.kind is KIND and not problem.is_of_part]
    for problem in problems[:1]:
        generated = quoted(str(problem.function.name))
        for derivative in problem.info.derivatives:
            formula = derivative.written
            # strides of an overwritten argument can never be saved
            if formula is None or derivative.strides_of:
                continue
            for saved in derivative.saved_inputs:
                if "self" in saved.name and saved.word is not None:
                    yield Finding(
                        formula.span_of(saved.word),
                        f"{quoted(saved.word.text)} cannot be saved: the formula also serves the generated "
                        f'{generated}, whose "self" is not overwritten',
                        help=f'use "result", or write an entry for {generated} without this formula',
                        at=formula,
                    )
                    break
