"""A property saved for the backward pass cannot be computed from the argument.

## What it detects
An expression such as ``x.sym_sizes()`` or ``x.dim()`` that PyTorch evaluates when the node is created, from the
argument as it was passed: an optional, a list or a number may not have that member.

## Why it is bad
PyTorch's generator moves such expressions from the formula into the kernel without checking the argument's type. The
C++ compiler reports an error in the kernel, far from any formula.

## Example
    - name: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
      self: clamp_backward(grad, self, min, max) * min.dim()

## Instead
    - name: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
      self: clamp_backward(grad, self, min, max)

## Sources
torchgen/packaged/autograd/load_derivatives.py, ``saved_variables``; gen_variable_type.py, ``save_variables``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import AnalysisDepth, Finding, Invalid, RuleMeta, Severity
from derivlint.lint.engine.precedence import UNREAD
from derivlint.lint.judging import judges
from derivlint.lint.shared.type_wording import cure, fact
from derivlint.lint.wording import quoted
from derivlint.model import Entry, Model
from derivlint.model.generated.evaluation import Mode, Origin

META = RuleMeta(severity=Severity.ERROR, group="types", checks=("X2",), yields_to=(UNREAD,), reads=AnalysisDepth.TYPES)

VALID = (
    """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), grad)
  other: handle_r_to_c(other.scalar_type(), maybe_multiply(grad, alpha.conj()))
""",
)

INVALID = (
    Invalid(
        """\
- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(alpha.scalar_type(), grad)
""",
        at="2:23-42",
        message='"alpha.scalar_type()" is evaluated when values are saved, where "Scalar" has no member "scalar_type"',
    ),
    Invalid(
        at="2:48-57",
        message='"min.dim()" is evaluated when values are saved, where "optional<Scalar>" has no member "dim"',
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the expressions that are evaluated to save values."""
    seen: set[tuple[int, str]] = set()
    for problem in model.type_problems(entry):
        evaluation = problem.evaluation
        # report an expression once
        place = (problem.where.start, evaluation.text)
        if evaluation.mode is Mode.SAVE and evaluation.origin is Origin.YAML and place not in seen:
            seen.add(place)
            yield Finding(
                problem.where,
                f"{quoted(evaluation.text)} is evaluated when values are saved, where {fact(problem.problem)}",
                help=cure(problem.problem),
                at=problem.written,
            )
