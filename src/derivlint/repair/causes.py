"""Explains wrong values by the small edit that makes a formula right, for the help of a finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec.structs import replace

from derivlint.formula.analysis import not_understood
from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.wording import quoted
from derivlint.model import DerivativeFormula, Model
from derivlint.repair.candidates import Candidate, Target
from derivlint.repair.edits import edited_formulas
from derivlint.repair.judge import distance_of, is_proved

#: The rules whose findings have two values, and no cause.
EXPLAINED = frozenset({"wrong-gradient", "wrong-tangent"})
#: The maximum number of explained formulas of a file, and of edits tried for each.
MAX_EXPLAINED = 8
MAX_TRIED = 40


def explained(model: Model, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings of a file, with the causes of wrong values as their help."""
    formulas: dict[tuple[str | None, str | None, str | None], DerivativeFormula] | None = None
    n_explained = 0
    for item in diagnostics:
        if item.rule not in EXPLAINED or n_explained == MAX_EXPLAINED:
            yield item
            continue
        if formulas is None:
            formulas = {
                (entry.operator, formula.body.key, formula.key_text): formula
                for entry in model.entries
                for formula in entry.formulas
            }
        formula = formulas.get((item.entry, item.dispatch, item.key))
        n_explained += 1
        # a keyword has no parts that could be edited
        try:
            cause = None if formula is None or formula.auto is not None else _cause(model, formula, item)
        except Exception as error:
            # the finding is right without a cause
            not_understood(error)
            cause = None
        yield item if cause is None else replace(item, help=f"{cause.cause}; write {quoted(cause.text)}")


def _cause(model: Model, formula: DerivativeFormula, finding: Diagnostic) -> Candidate | None:
    target = Target(formula.body, formula.key_text, formula, (finding,))
    for candidate in islice(edited_formulas(target, model), MAX_TRIED):
        if not distance_of(model, target, candidate.text) and is_proved(model, target, candidate.text):
            return candidate
    return None
