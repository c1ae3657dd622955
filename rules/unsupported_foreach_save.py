"""A formula uses a value that the foreach variant of the operator cannot save.

## What it detects
The reference formula of a foreach operator that uses a property of an output (only ``result`` itself can be saved), an
argument that the foreach operator does not have, or a function of an argument such as ``TensorGeometry(self)``.

## Why it is bad
PyTorch derives the formulas of ``_foreach_abs`` from those of ``abs`` by replacing names in their text. If the text
does not match, its generator fails with an empty message or a ``KeyError``.

## Example
    - name: abs(Tensor self) -> Tensor
      self: f(grad, result.scalar_type(), self)

## Instead
    - name: abs(Tensor self) -> Tensor
      self: f(grad, self.scalar_type(), self)

## Sources
torchgen/api/autograd.py, ``gen_foreach_derivativeinfo``.
"""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.lint import Finding, Invalid, RuleMeta, Severity, SupersededBy
from derivlint.lint.engine.precedence import UNCOMPILED
from derivlint.lint.judging import judges
from derivlint.lint.shared.findings import foreach_problems
from derivlint.lint.wording import quoted
from derivlint.model import Derivative, DerivativeFormula, Entry, MatchProblem, Model
from derivlint.model.generated.foreach import ForeachProblem
from derivlint.model.generated.forward import MatchProblemKind
from derivlint.model.keys import RESULT

META = RuleMeta(
    severity=Severity.ERROR,
    group="foreach",
    checks=("M5", "M6"),
    yields_to=(
        UNCOMPILED,
        SupersededBy(
            ("misplaced-sym-strides", "strides-in-inplace-formula"), "the strides cannot be saved in any case"
        ),
    ),
)

VALID = (
    """\
- name: exp(Tensor self) -> Tensor
  self: grad * result.conj()
""",
    # atan2 has no foreach variant
    """\
- name: atan2(Tensor self, Tensor other) -> Tensor
  self, other: f(grad, result.scalar_type(), TensorGeometry(self))
""",
)

INVALID = (
    Invalid(
        """\
- name: clamp_min.Tensor(Tensor self, Tensor min) -> Tensor
  min: f(grad, self, min.sym_strides())
""",
        at="2:22-25",
        message='"_foreach_clamp_min.List" shares this formula and cannot save the strides of "min"',
    ),
    Invalid(
        at="2:17-23",
        message='"_foreach_abs" shares this formula and can save "result" itself, not "result_scalar_type"',
        help='use "result" as a whole, or an argument',
    ),
    Invalid(
        """\
- name: abs(Tensor self) -> Tensor
  self: f(grad, TensorGeometry(self), self)
""",
        at="2:32-36",
        message='"_foreach_abs" shares this formula and cannot save "TensorGeometry(self)"',
        help="only properties of the foreach operator's own arguments can be saved",
    ),
    Invalid(
        """\
- name: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
  self: handle_r_to_c(self.scalar_type(), f(grad, alpha))
""",
        at="2:51-56",
        message='"_foreach_add.Scalar" shares this formula and has no argument "alpha"',
        help="only properties of the foreach operator's own arguments can be saved",
    ),
)


@judges(Entry, Model)
def check(entry: Entry, model: Model) -> Iterator[Finding]:
    """Check the values that reference formulas of foreach operators save."""
    seen: set[tuple[DerivativeFormula, str]] = set()
    for problem, detail, formula in foreach_problems(
        entry, model, MatchProblemKind.SAVED_OUTPUT, MatchProblemKind.SAVED_INPUT
    ):
        if detail.word is None or not isinstance(detail.derivative, Derivative) or (formula, detail.name) in seen:
            continue
        seen.add((formula, detail.name))
        yield _finding(entry, formula, problem, detail)


def _finding(entry: Entry, formula: DerivativeFormula, problem: MatchProblem, detail: ForeachProblem) -> Finding:
    foreach = quoted(str(problem.function.name))
    word = detail.word
    assert word is not None
    where = formula.span_of(word)
    shares = f"{foreach} shares this formula and"
    if problem.kind is MatchProblemKind.SAVED_OUTPUT:
        if word.text == RESULT:
            message = f'{shares} can save "result" itself, not {quoted(detail.name)}'
            return Finding(where, message, help='use "result" as a whole, or an argument', at=formula)
        message = f"{shares} cannot save the output {quoted(word.text)}"
        return Finding(where, message, help='only an output called "result" can be saved', at=formula)
    strides = detail.derivative.strides_of if isinstance(detail.derivative, Derivative) else ()
    if any(place == word for _, place in strides):
        message = f"{shares} cannot save the strides of {quoted(word.text)}"
        return Finding(
            where,
            message,
            help="write a formula without strides, or give the foreach operator an entry of its own",
            at=formula,
        )
    cure = "only properties of the foreach operator's own arguments can be saved"
    arguments = [argument.name for argument in problem.function.schema.arguments.flat_all]
    function = entry.function
    missing = function is not None and function.argument(word.text) is not None and word.text not in arguments
    if missing and detail.name == word.text:
        return Finding(where, f"{shares} has no argument {quoted(word.text)}", help=cure, at=formula)
    return Finding(where, f"{shares} cannot save {quoted(detail.name)}", help=cure, at=formula)
