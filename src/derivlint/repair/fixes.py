"""Suggestions that are certain, as unsafe fixes of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from derivlint.lint.diagnostic import Diagnostic, Fix
from derivlint.lint.rule import Rule
from derivlint.model import Model
from derivlint.repair.judge import Judge
from derivlint.repair.suggest import suggest, targets_in


def certain_fixes(
    model: Model, findings: Sequence[Diagnostic], rules: Iterable[Rule], shows: Callable[[Diagnostic], bool]
) -> Iterator[Diagnostic]:
    """Yield the first finding about each wrong formula whose suggestion is certain, with that as its fix.

    Args:
        model: the model of the file.
        findings: the findings to fix.
        rules: the rules whose findings reject a suggestion.
        shows: returns whether a finding is shown.
    """
    firsts = {(item.entry, item.dispatch, item.key): item for item in reversed(findings) if item.key is not None}
    if not firsts:
        return
    judge = Judge(model.source, model, rules, shows)
    operators = {operator for operator, _, _ in firsts}
    for target in targets_in(judge, [entry for entry in judge.model.entries if entry.operator in operators]):
        finding = firsts.get((target.body.entry.operator, target.body.key, target.key))
        suggestion = suggest(judge, target) if finding is not None else None
        if finding is not None and suggestion is not None and suggestion.is_certain:
            yield replace(finding, fix=Fix("Correct the formula", suggestion.candidates[0].edits, safe=False))
    judge.model.end_revision()
