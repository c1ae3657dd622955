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
from derivlint.lint.engine.reading import Reading, reading_at
from derivlint.lint.severity import Severity
from derivlint.model import Entry, Model
from derivlint.model.index import BY_OPERATOR
from derivlint.source.lazy import cached_property
from derivlint.yaml_reader.split import SplitDocument

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
        self._found = found
        self._is_broken = any(model.document.problems for model in models)
        self._finders = [EntryFinder(model) for model in models]
        #: entries that are cut out of the text are not read to say where they are
        self._are_numbered = len(models) == 1 and isinstance(models[0].document, SplitDocument)
        self._doubtful_by_rule: dict[str, frozenset[int]] = {}
        self._unread_by_reading: dict[Reading, frozenset[int]] = {}

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
        if not self._is_sound(name):
            return False
        key = self._key(entry)
        # the others need not be read
        reading = reading_at(self._models[0], key) if self._are_numbered else self._readings[key]
        return reading >= self._rules[name].reads and key not in self._doubtful(name)

    def judges_all(self, name: str) -> bool:
        """Whether a rule judged all entries of the file."""
        return self._is_sound(name) and not self._lacking(name)

    def unjudged(self) -> Unjudged:
        """What was not judged, for those who know entries by operators only: operators, and rules that judged none.

        An empty name of an operator stands for what belongs to no entry. Where some entry has an operator that is not
        known, a baseline may know it by another name: then a group without rules names all operators of the file.
        """
        operators = self._operators
        by_keys: dict[frozenset[int], list[str]] = {}
        for name in self._rules:
            is_sound = self._is_sound(name)
            keys = self._lacking(name) if is_sound else self._every
            if keys or not is_sound:
                by_keys.setdefault(keys, []).append(name)
        found: dict[tuple[str, ...], list[str]] = {}
        for keys, names in by_keys.items():
            found.setdefault(tuple(sorted({"", *(operators[key] for key in keys)})), []).extend(names)
        groups = [(lacking, tuple(sorted(names))) for lacking, names in sorted(found.items())]
        if self._unread(Reading.FORM):
            groups.append((tuple(sorted(set(operators.values()))), ()))
        return tuple(groups)

    def _key(self, entry: Entry) -> int:
        """What stands for an entry; those of several models are the same where they are at the same place."""
        return entry.index if self._are_numbered else entry.span.start

    def _is_sound(self, name: str) -> bool:
        """Whether a rule ran, and nothing kept it from judging the file as a whole."""
        if name not in self._rules or self._is_broken or Crashed(name, None) in self._crashed:
            return False
        # a rule that compares entries needs all of them
        return not (self._rules[name].meta.compares and (self._unread(Reading.FORM) or self._crashed_on(name)))

    def _lacking(self, name: str) -> frozenset[int]:
        """The entries that a rule did not judge, where nothing kept it from judging the file as a whole."""
        return self._unread(self._rules[name].reads) | self._doubtful(name)

    def _doubtful(self, name: str) -> frozenset[int]:
        """The entries of which it is not known what a rule would have found in them, however far they could be read."""
        found = self._doubtful_by_rule.get(name)
        if found is None:
            found = self._crashed_on(name)
            if self._rules[name].reads > Reading.FORM:
                # about an error, rules that look deeper than the form leave the word to the one that found it
                found |= {key for key, rules in self._wrong.items() if rules != {name}}
            self._doubtful_by_rule[name] = found
        return found

    def _crashed_on(self, name: str) -> frozenset[int]:
        """The entries on which a rule crashed."""
        return frozenset(self._key_at(start) for who, start in self._crashed if who == name and start is not None)

    def _key_at(self, start: int) -> int:
        """What stands for the entry that begins there."""
        entry = self._finders[0].at(start) if self._are_numbered else None
        return entry.index if entry is not None else start

    def _unread(self, reads: Reading) -> frozenset[int]:
        """The entries that could not be read as far as that."""
        found = self._unread_by_reading.get(reads)
        if found is None:
            found = frozenset(key for key, reading in self._readings.items() if reading < reads)
            self._unread_by_reading[reads] = found
        return found

    @property
    def _every(self) -> frozenset[int]:
        return frozenset(self._readings)

    @property
    def _operators(self) -> dict[int, str]:
        """The operators of all entries, as they are written."""
        first = self._models[0]
        if not self._are_numbered:
            return {entry.span.start: entry.operator or "" for entry in first.all_entries}
        # an index knows them of entries that are not read
        return {index: key for index, ((key, _),) in enumerate(first.rows_of(BY_OPERATOR))}

    @cached_property
    def _readings(self) -> dict[int, Reading]:
        """How far each entry could be read; nothing of those that were not checked."""
        first = self._models[0]
        if self._are_numbered:
            return {index: reading_at(first, index) for index in range(len(first.entries))}
        found: dict[int, Reading] = {}
        for model in self._models:
            for index, entry in enumerate(model.entries):
                reading = reading_at(model, index)
                found[entry.span.start] = min(reading, found.get(entry.span.start, reading))
        return {entry.span.start: found.get(entry.span.start, Reading.NOTHING) for entry in first.all_entries}

    @cached_property
    def _wrong(self) -> dict[int, set[str]]:
        """The rules that found errors, by the entry: other rules may have left the word to them."""
        errors: dict[int, set[str]] = {}
        for diagnostic in self._found:
            if diagnostic.severity is not Severity.ERROR and diagnostic.rule not in NOT_ANALYSED:
                continue
            for finder in self._finders:
                entry = finder.owner(diagnostic)
                if entry is not None:
                    errors.setdefault(self._key(entry), set()).add(diagnostic.rule)
        return errors
