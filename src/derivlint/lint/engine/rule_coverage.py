"""The rules that judged an entry: distinguishes "no finding" from "not judged".

A rule judged an entry if it ran without crash, the entry belongs to a checked version, its formulas could be analyzed
to the rule's depth, and no error of another rule may supersede its findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from derivlint.lint.diagnostic import CrashSite, Severity
from derivlint.lint.engine.depth import AnalysisDepth, depth_at
from derivlint.lint.engine.ownership import EntryFinder
from derivlint.model import Entry, Model
from derivlint.model.index import BY_OPERATOR
from derivlint.source.lazy import cached_property
from derivlint.yaml_reader.split import SplitDocument

if TYPE_CHECKING:
    from derivlint.lint.diagnostic import Diagnostic, Unjudged
    from derivlint.lint.rule import Rule
    from derivlint.lint.suppressions.suppression import SuppressionScope

#: Rules whose findings mean that a part was not analyzed.
NOT_ANALYSED = frozenset({"formula-too-large", "internal-error"})


class RuleCoverage:
    """The entries of a file that each rule of a run judged."""

    def __init__(
        self,
        models: Sequence[Model],
        rules: Iterable[Rule],
        crashed: frozenset[CrashSite],
        diagnostics: Iterable[Diagnostic],
    ) -> None:
        """Make the coverage of a run.

        Args:
            models: the checked models of the file.
            rules: the rules that ran.
            crashed: the checks that crashed.
            diagnostics: the findings in all models.
        """
        self._models = models
        self._rules = {rule.name: rule for rule in rules}
        self._crashed = crashed
        self._diagnostics = diagnostics
        self._is_broken = any(model.document.problems for model in models)
        self._finders = [EntryFinder(model) for model in models]
        #: entries of a plain list are identified by index, which avoids reading them
        self._are_numbered = len(models) == 1 and isinstance(models[0].document, SplitDocument)
        self._doubtful_by_rule: dict[str, frozenset[int]] = {}
        self._unread_by_depth: dict[AnalysisDepth, frozenset[int]] = {}

    def covers(self, name: str, scope: SuppressionScope) -> bool:
        """Whether a rule judged the whole scope of a suppression.

        Args:
            name: the current name of the rule.
            scope: the scope of the suppression.
        """
        if scope.line is None:
            return self.judges_all(name)
        return scope.entry is not None and self.judges(name, scope.entry)

    def judges(self, name: str, entry: Entry) -> bool:
        """Whether a rule judged an entry."""
        if not self._is_sound(name):
            return False
        key = self._key(entry)
        depth = depth_at(self._models[0], key) if self._are_numbered else self._depths[key]
        return depth >= self._rules[name].reads and key not in self._doubtful(name)

    def judges_all(self, name: str) -> bool:
        """Whether a rule judged all entries of the file."""
        return self._is_sound(name) and not self._lacking(name)

    def unjudged(self) -> Unjudged:
        """Return groups of operators with the rules that judged none of their entries.

        The empty operator name denotes findings without an entry. If the operator of an entry is unknown, a baseline
        may have its findings under another name, so a group without rules has all operators of the file.
        """
        first = self._models[0]
        if self._are_numbered:
            # the index avoids reading the entries
            operators = {index: key for index, ((key, _),) in enumerate(first.rows_of(BY_OPERATOR))}
        else:
            operators = {entry.span.start: entry.operator or "" for entry in first.all_entries}
        by_keys: dict[frozenset[int], list[str]] = {}
        for name in self._rules:
            is_sound = self._is_sound(name)
            keys = self._lacking(name) if is_sound else frozenset(self._depths)
            if keys or not is_sound:
                by_keys.setdefault(keys, []).append(name)
        rules_by_operators: dict[tuple[str, ...], list[str]] = {}
        for keys, names in by_keys.items():
            rules_by_operators.setdefault(tuple(sorted({"", *(operators[key] for key in keys)})), []).extend(names)
        groups = [(lacking, tuple(sorted(names))) for lacking, names in sorted(rules_by_operators.items())]
        if self._unread(AnalysisDepth.FORM):
            groups.append((tuple(sorted(set(operators.values()))), ()))
        return tuple(groups)

    def _key(self, entry: Entry) -> int:
        """The index or offset of an entry, which is the same in all models."""
        return entry.index if self._are_numbered else entry.span.start

    def _is_sound(self, name: str) -> bool:
        """Whether a rule ran and could judge the whole file."""
        if name not in self._rules or self._is_broken or CrashSite(name, None) in self._crashed:
            return False
        # a rule that compares entries needs all entries
        return not (self._rules[name].meta.compares and (self._unread(AnalysisDepth.FORM) or self._crashed_on(name)))

    def _lacking(self, name: str) -> frozenset[int]:
        """The entries that a rule did not judge, if it could judge the file."""
        return self._unread(self._rules[name].reads) | self._doubtful(name)

    def _doubtful(self, name: str) -> frozenset[int]:
        """The entries in which a rule crashed, or in which its findings may have been superseded."""
        entries = self._doubtful_by_rule.get(name)
        if entries is None:
            entries = self._crashed_on(name)
            if self._rules[name].reads > AnalysisDepth.FORM:
                # errors may supersede findings of rules that need more than the form
                entries |= {key for key, rules in self._wrong.items() if rules != {name}}
            self._doubtful_by_rule[name] = entries
        return entries

    def _crashed_on(self, name: str) -> frozenset[int]:
        """The entries on which a rule crashed."""
        keys: set[int] = set()
        for rule, start in self._crashed:
            if rule == name and start is not None:
                entry = self._finders[0].at(start) if self._are_numbered else None
                keys.add(entry.index if entry is not None else start)
        return frozenset(keys)

    def _unread(self, depth: AnalysisDepth) -> frozenset[int]:
        """The entries that could not be analyzed to a depth."""
        entries = self._unread_by_depth.get(depth)
        if entries is None:
            entries = frozenset(key for key, reached in self._depths.items() if reached < depth)
            self._unread_by_depth[depth] = entries
        return entries

    @cached_property
    def _depths(self) -> dict[int, AnalysisDepth]:
        """The depth to which each entry could be analyzed; ``NOTHING`` for unchecked entries."""
        first = self._models[0]
        if self._are_numbered:
            return {index: depth_at(first, index) for index in range(len(first.entries))}
        depths: dict[int, AnalysisDepth] = {}
        for model in self._models:
            for index, entry in enumerate(model.entries):
                depth = depth_at(model, index)
                depths[entry.span.start] = min(depth, depths.get(entry.span.start, depth))
        return {entry.span.start: depths.get(entry.span.start, AnalysisDepth.NOTHING) for entry in first.all_entries}

    @cached_property
    def _wrong(self) -> dict[int, set[str]]:
        """The rules with errors in each entry, which may supersede other findings."""
        errors: dict[int, set[str]] = {}
        for diagnostic in self._diagnostics:
            if diagnostic.severity is not Severity.ERROR and diagnostic.rule not in NOT_ANALYSED:
                continue
            for finder in self._finders:
                entry = finder.owner(diagnostic)
                if entry is not None:
                    errors.setdefault(self._key(entry), set()).add(diagnostic.rule)
        return errors
