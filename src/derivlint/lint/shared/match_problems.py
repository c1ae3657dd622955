"""Formulas that torchgen cannot use for in-place or foreach operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from derivlint.lint.diagnostic import Finding
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Entry, MatchProblem, Model
from derivlint.model.generated.foreach import ForeachProblem
from derivlint.model.generated.inplace import InplaceProblem
from derivlint.model.match_problem import MatchProblemKind


def inplace_problems(
    entry: Entry, model: Model, kind: MatchProblemKind
) -> Iterator[tuple[MatchProblem, DerivativeFormula]]:
    """The formulas of an entry that in-place functions cannot use, for one cause."""
    for problem in model.match_problems(entry):
        detail = problem.detail
        if problem.kind is kind and isinstance(detail, InplaceProblem) and detail.derivative is not None:
            formula = detail.derivative.written
            if formula is not None:
                yield problem, formula


def foreach_problems(
    entry: Entry, model: Model, *kinds: MatchProblemKind
) -> Iterator[tuple[MatchProblem, ForeachProblem, DerivativeFormula]]:
    """The formulas of an entry that foreach functions cannot use, for some causes."""
    for problem in model.match_problems(entry):
        detail = problem.detail
        if problem.kind in kinds and not problem.is_of_part and isinstance(detail, ForeachProblem):
            formula = detail.derivative.written
            if formula is not None and formula.parsed.tree is not None:
                yield problem, detail, formula


def rewrite_findings(
    entry: Entry,
    model: Model,
    kind: MatchProblemKind,
    cure: Callable[[ForeachProblem], str | None],
    is_another_slip: Callable[[DerivativeFormula, str], bool] = lambda formula, name: False,
) -> Iterator[Finding]:
    """Findings about names that the rewrite for a foreach function breaks, each name of a formula once.

    Args:
        entry: the entry.
        model: the model of its file.
        kind: the way in which names are broken.
        cure: returns the help.
        is_another_slip: whether another rule reports the name in the formula itself.
    """
    seen: set[tuple[DerivativeFormula, str]] = set()
    for problem, detail, formula in foreach_problems(entry, model, kind):
        word = next((word for word in formula.parsed.words if word.text == detail.name), None)
        if word is None or (formula, detail.name) in seen or is_another_slip(formula, detail.name):
            continue
        seen.add((formula, detail.name))
        yield Finding(
            formula.span_of(word),
            f"{quoted(str(problem.function.name))} shares this formula, in which "
            f"{quoted(detail.name)} becomes {quoted(detail.becomes or '')}",
            help=cure(detail),
            at=formula,
        )
