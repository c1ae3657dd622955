"""Suppressions with their uses, the subject of rules about suppressions."""

from __future__ import annotations

from collections.abc import Iterable

from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.engine.rule_coverage import RuleCoverage
from derivlint.lint.suppressions.suppression import NEVER_SILENCED, PlacedSuppression, RuleNames, suppressions_of
from derivlint.model import Model
from derivlint.source.lazy import cached_property


class SuppressionsInUse:
    """The suppressions of a file with their uses in a run.

    Attributes:
        model: the file.
        placed: the suppressions.
        names: the names of all rules.
    """

    def __init__(self, model: Model, diagnostics: Iterable[Diagnostic], names: RuleNames, judged: RuleCoverage) -> None:
        suppressions = suppressions_of(model)
        self.model = model
        self.placed: tuple[PlacedSuppression, ...] = suppressions.placed
        self.names = names
        self._judged = judged
        self._diagnostics = tuple(diagnostics)
        self._used: dict[int, set[str]] = {id(placed): set() for placed in self.placed}
        for diagnostic, by in suppressions.matches(self._diagnostics, names).items():
            for index in by:
                self._used[id(self.placed[index])].add(diagnostic.rule)

    def is_known(self, name: str) -> bool:
        """Whether a rule has or had this name."""
        return name in self.names.existing or name in self.names.renamed or name in NEVER_SILENCED

    def uses(self, placed: PlacedSuppression) -> frozenset[str]:
        """The rules whose findings a suppression suppressed."""
        return frozenset(self._used[id(placed)])

    def would_silence(self, placed: PlacedSuppression, name: str) -> bool:
        """Whether a suppression would suppress a finding of a rule that it does not name."""
        scope = placed.scope
        return scope is not None and any(
            scope.covers(diagnostic, suppressions_of(self.model).finder.owner(diagnostic))
            for diagnostic in self._by_rule.get(name, ())
        )

    @cached_property
    def _by_rule(self) -> dict[str, list[Diagnostic]]:
        by_rule: dict[str, list[Diagnostic]] = {}
        for diagnostic in self._diagnostics:
            by_rule.setdefault(diagnostic.rule, []).append(diagnostic)
        return by_rule

    def unused_names(self, placed: PlacedSuppression) -> tuple[int, ...]:
        """The positions of repeated names, and of unused names whose rules judged the scope."""
        scope = placed.scope
        if scope is None or placed.suppression.malformed is not None:
            return ()
        used = self._used[id(placed)]
        positions: list[int] = []
        seen: set[str] = set()
        for position, written in enumerate(placed.suppression.names):
            name = self.names.present(written.text)
            unused = name not in NEVER_SILENCED and name not in used and self._judged.covers(name, scope)
            if name in seen or unused:
                positions.append(position)
            seen.add(name)
        return tuple(positions)
