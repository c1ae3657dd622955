"""Which rules judged which entries of a file, so that finding nothing there says something.

A rule judged an entry if it ran and did not crash there, if the entry belongs to a version that was checked, if its
formulas could be read as far as the rule reads them, and if nothing there is so wrong that rules leave the word to
another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from derivlint.lint.engine.crash import Crashed
from derivlint.lint.engine.ownership import EntryFinder
from derivlint.lint.engine.reading import Reading, read_of
from derivlint.lint.severity import Severity
from derivlint.model import Entry, Model

if TYPE_CHECKING:
    from derivlint.lint.diagnostic import Diagnostic
    from derivlint.lint.engine.result import Unjudged
    from derivlint.lint.rule import Rule
    from derivlint.lint.suppressions.suppression import SuppressionScope

#: The rules which say that something was not analysed, whatever their severity.
NOT_ANALYSED = frozenset({"formula-too-large", "internal-error"})


class Judged:
    """What the rules of a run judged in a file."""

    def __init__(
        self,
        models: Sequence[Model],
        rules: Iterable[Rule],
        crashed: frozenset[Crashed],
        found: Iterable[Diagnostic],
    ) -> None:
        """Keep account of a run.

        Args:
            models: the models of the file that were checked.
            rules: the rules that ran.
            crashed: the checks that crashed.
            found: what the rules found in all models.
        """
        self._models = models
        self._rules = {rule.name: rule for rule in rules}
        self._crashed = crashed
        # entries of several models are the same where they are at the same place
        self._entries: dict[int, list[tuple[Model, Entry]]] = {}
        for model in models:
            for entry in model.entries:
                self._entries.setdefault(entry.span.start, []).append((model, entry))
        self._every = tuple(dict.fromkeys(entry.span.start for entry in models[0].all_entries))
        self._wrong = self._errors(found)
        self._readings: dict[int, Reading] = {}
        self._in_all: dict[tuple[str, Reading], bool] = {}

    def covers(self, name: str, scope: SuppressionScope) -> bool:
        """Whether a rule judged everything that a suppression covers.

        Args:
            name: the present name of the rule.
            scope: what the suppression covers.
        """
        if scope.line is None:
            return self.judges_all(name)
        return scope.entry is not None and self.judges(name, scope.entry)

    def judges(self, name: str, entry: Entry) -> bool:
        """Whether a rule judged an entry."""
        rule = self._rules.get(name)
        if rule is None or not self._is_sound(name):
            return False
        if rule.meta.compares and not self._is_read_in_all(name, Reading.FORM):
            return False
        return self._is_read(name, entry.span.start, rule.reads)

    def judges_all(self, name: str) -> bool:
        """Whether a rule judged all entries of the file."""
        rule = self._rules.get(name)
        return rule is not None and self._is_sound(name) and self._is_read_in_all(name, rule.reads)

    def unjudged(self) -> Unjudged:
        """What was not judged, for those who know entries by operators only: operators, and rules that judged none.

        An empty name of an operator stands for what belongs to no entry. Where some entry has an operator that is not
        known, a baseline may know it by another name: then a group without rules names all operators of the file.
        """
        found: dict[tuple[str, ...], list[str]] = {}
        named = {entry.span.start: entry.operator or "" for entry in self._models[0].all_entries}
        by_reading: dict[tuple[Reading, bool], tuple[str, ...]] = {}
        special = {crash.rule for crash in self._crashed} | {rule for rules in self._wrong.values() for rule in rules}
        for name, rule in self._rules.items():
            kind = (rule.reads, rule.meta.compares)
            operators = by_reading.get(kind) if name not in special else None
            if operators is None:
                operators = self._operators_without(name, named)
                if name not in special:
                    by_reading[kind] = operators
            if operators:
                found.setdefault(operators, []).append(name)
        groups = [(operators, tuple(sorted(names))) for operators, names in sorted(found.items())]
        if any(self._is_nothing(start) for start in self._every):
            groups.append((tuple(sorted(set(named.values()))), ()))
        return tuple(groups)

    def _is_nothing(self, start: int) -> bool:
        """Whether it is not known what an entry is."""
        return start not in self._entries or self._reading(start) is Reading.NOTHING

    def _operators_without(self, name: str, named: dict[int, str]) -> tuple[str, ...]:
        starts = {entry.span.start: entry for entry in self._models[0].all_entries}
        lacking = {named[start] for start, entry in starts.items() if not self.judges(name, entry)}
        if not self.judges_all(name):
            lacking.add("")
        return tuple(sorted(lacking))

    def _is_sound(self, name: str) -> bool:
        """Whether nothing keeps a rule from judging the file as a whole."""
        broken = any(model.document.problems for model in self._models)
        return not broken and Crashed(name, None) not in self._crashed

    def _is_read(self, name: str, start: int, reads: Reading) -> bool:
        if start not in self._entries or Crashed(name, start) in self._crashed:
            return False
        # about an error, rules that look deeper than the form leave the word to the one that found it
        if reads > Reading.FORM and self._wrong.get(start, {name}) != {name}:
            return False
        return self._reading(start) >= reads

    def _reading(self, start: int) -> Reading:
        found = self._readings.get(start)
        if found is None:
            try:
                found = min(read_of(model, entry) for model, entry in self._entries[start])
            except Exception:
                # rules that asked for the same crashed as well, and that was reported
                found = Reading.NOTHING
            self._readings[start] = found
        return found

    def _is_read_in_all(self, name: str, reads: Reading) -> bool:
        found = self._in_all.get((name, reads))
        if found is None:
            found = all(self._is_read(name, start, reads) for start in self._every)
            self._in_all[name, reads] = found
        return found

    def _errors(self, found: Iterable[Diagnostic]) -> dict[int, set[str]]:
        """The rules that found errors, by the entry: other rules may have left the word to them."""
        errors: dict[int, set[str]] = {}
        finders = [EntryFinder(model.all_entries) for model in self._models]
        for diagnostic in found:
            if diagnostic.severity is not Severity.ERROR and diagnostic.rule not in NOT_ANALYSED:
                continue
            for finder in finders:
                entry = finder.owner(diagnostic)
                if entry is not None:
                    errors.setdefault(entry.span.start, set()).add(diagnostic.rule)
        return errors
