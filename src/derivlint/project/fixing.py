"""Fixing a derivatives file: apply fixes and check the text again, until there are no more fixes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint import Diagnostic, Rule, Severity
from derivlint.lint.engine.ownership import EntryFinder
from derivlint.lint.fixing import FixOutcome, OffsetMap, apply_fixes, fixable
from derivlint.model import Entry
from derivlint.model.memos import Memos
from derivlint.project.check import CheckedFile, check_source
from derivlint.project.filtering.findings import FindingFilter
from derivlint.project.settings import Settings
from derivlint.rules import NAMES, load_rule, load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span

#: The maximum number of passes: a fix may enable another, and fixes may undo each other.
MAX_PASSES = 10
#: The maximum number of trials for a short text; after that, unproved fixes are dropped.
MAX_TRIALS = 60
#: The minimum number of trials for a text of any length.
MIN_TRIALS = 8
#: The number of failed groups after which only small groups are tried fix by fix.
MAX_FAILURES = 2
#: The maximum number of fixes in a small group.
SMALL_GROUP = 8
#: The total number of characters checked in all trials, so that long texts are checked less often.
MAX_TRIED = 512 * 1024

#: Checks a text.
Checker = Callable[[SourceFile], CheckedFile]
#: Returns findings whose fixes are suggestions that are certain.
Repair = Callable[[CheckedFile], Iterable[Diagnostic]]
#: The identity of an error, whose span may have moved.
_Identity = tuple[str, str | None, str | None, str | None, str]


class FixedFile(Struct, frozen=True):
    """A file with all possible fixes applied.

    Attributes:
        source: the file before.
        text: the text after; equal to the one before if nothing was fixed.
        fixed: the diagnostics with applied fixes, in order of application.
        dropped: those whose fixes would have caused another error, or unreadable YAML.
        untried: those whose fixes were not tried because of the limit; their spans are in the fixed text.
        readable: whether the file is YAML; if not, nothing is fixed.
    """

    source: SourceFile
    text: str
    fixed: tuple[Diagnostic, ...]
    dropped: tuple[Diagnostic, ...]
    untried: tuple[Diagnostic, ...] = ()
    readable: bool = True

    @property
    def changed(self) -> bool:
        """Whether the text has changed."""
        return self.text != self.source.text

    @property
    def result(self) -> SourceFile:
        """The fixed file."""
        return SourceFile(self.source.path, self.text, self.source.undecodable)


def fix_source(source: SourceFile, check: Checker, *, unsafe: bool = False, repair: Repair | None = None) -> FixedFile:
    """Fix a text, check it, and repeat until there are no more fixes.

    Fixes are kept only if the text is still YAML and they cause no error. An error that they uncover, because the fixed
    finding prevented rules from judging the place, does not count as new. If a group of fixes fails, the responsible
    ones are dropped; the number of trials is limited. Unsafe fixes come after all safe ones, so that they replace none.
    A text that is not YAML or not UTF-8 is not fixed: its spans are unreliable.

    Args:
        source: the text.
        check: checks a text; the fixes of shown diagnostics are applied.
        unsafe: whether to apply fixes that may change the meaning.
        repair: returns more unsafe fixes, which are applied once, after all others.
    """
    return _Fixer(source, check, unsafe, repair).run()


def repair_of(settings: Settings, rules: tuple[Rule, ...]) -> Repair:
    """Return the function that fixes formulas by suggestions that are certain.

    Args:
        settings: the settings.
        rules: the rules whose findings are fixed, and reject a suggestion.
    """

    def repair(checked: CheckedFile) -> Iterable[Diagnostic]:
        from derivlint.repair.fixes import certain_fixes

        return certain_fixes(checked.model, checked.shown, rules, settings.shows)

    return repair


def checker_of(
    natives: NativeFunctions, settings: Settings, rules: tuple[Rule, ...], finding_filter: FindingFilter | None = None
) -> Checker:
    """Return the check for fixing: fixes of some rules may also cause errors of other rules.

    Args:
        natives: the operators.
        settings: the settings.
        rules: the rules whose fixes are applied.
        finding_filter: selects the findings to fix.
    """
    selected = {rule.name for rule in rules}
    unselected = tuple(rule for rule in load_rules() if rule.meta.status == "stable" and rule.name not in selected)
    unselected_names = {rule.name for rule in unselected}
    if finding_filter is not None:
        finding_filter = replace(finding_filter, updates_baseline=False)
    memos = Memos()

    def check(text: SourceFile) -> CheckedFile:
        checked = check_source(
            text, natives, settings, rules, extra_rules=unselected, finding_filter=finding_filter, memos=memos
        )
        return replace(checked, shown=tuple(item for item in checked.shown if item.rule not in unselected_names))

    return check


class _Fixer:
    def __init__(self, source: SourceFile, check: Checker, unsafe: bool, repair: Repair | None) -> None:
        self._original = source
        self._check = check
        self._repair = repair if unsafe else None
        self._unsafe = False
        self._phases = (False, True) if unsafe else (False,)
        self._trials = min(MAX_TRIALS, max(MIN_TRIALS, MAX_TRIED // max(1, len(source.text))))
        self._fixed: list[Diagnostic] = []
        self._dropped: dict[_Identity, Diagnostic] = {}
        self._tried: dict[str, CheckedFile] = {}
        #: the texts of entries in which dropped fixes caused errors
        self._entries: dict[_Identity, str] = {}
        self._seen = {source.text}
        self._passes = MAX_PASSES

    def run(self) -> FixedFile:
        source = self._original
        if source.undecodable is not None:
            return FixedFile(source, source.text, (), (), readable=False)
        checked = self._check(source)
        if checked.model.document.problems:
            return FixedFile(source, source.text, (), (), readable=False)
        for unsafe in self._phases:
            self._unsafe = unsafe
            checked = self._fix_until_stable(checked)
        if self._repair is not None:
            outcome, after = self._apply_harmless(checked.model.source, checked, list(self._repair(checked)))
            if after is not None:
                self._fixed += outcome.applied
                checked = after
        text = checked.model.source.text
        untried = self._candidates(checked) if self._trials <= 0 or self._passes <= 0 else []
        return FixedFile(self._original, text, tuple(self._fixed), tuple(self._dropped.values()), tuple(untried))

    def _fix_until_stable(self, checked: CheckedFile) -> CheckedFile:
        """Return the check of the text without further fixes."""
        while self._trials > 0 and self._passes > 0:
            source = checked.model.source
            outcome, after = self._apply_harmless(source, checked, self._candidates(checked))
            if after is not None and outcome.text not in self._seen:
                self._passes -= 1
                self._seen.add(outcome.text)
                self._fixed += outcome.applied
                checked = after
            elif not self._retry_dropped(checked):
                break
        return checked

    def _retry_dropped(self, checked: CheckedFile) -> bool:
        """Retry dropped fixes in entries that other fixes have changed since; the next run would find them, too."""
        finder = EntryFinder(checked.model) if self._dropped else None
        again = [
            identity
            for item in checked.shown
            if finder is not None
            and (identity := _identity(item)) in self._dropped
            and self._entries[identity] != _entry_of(checked, finder, item)
        ]
        for identity in again:
            self._dropped.pop(identity, None)
        return bool(again)

    def _candidates(self, checked: CheckedFile) -> list[Diagnostic]:
        return [item for item in checked.shown if fixable(item, self._unsafe) and _identity(item) not in self._dropped]

    def _apply_harmless(
        self, source: SourceFile, before: CheckedFile, candidates: list[Diagnostic]
    ) -> tuple[FixOutcome, CheckedFile | None]:
        """Apply as many fixes as possible without a new error; return the outcome, and the check if any was applied."""
        # a harmless half and the other half have been tried already
        self._tried.clear()
        finder = EntryFinder(before.model)
        accepted: list[Diagnostic] = []
        outcome, checked = FixOutcome(source.text, (), ()), None
        # fixes that are applied together stay compatible in subsets; the others wait for the next pass
        together = list(apply_fixes(source, candidates, unsafe=self._unsafe).applied)
        pending = [(together, 0)] if together else []
        while pending and self._trials > 0:
            group, failures = pending.pop()
            trial = apply_fixes(source, (*accepted, *group), unsafe=self._unsafe)
            after, errors, is_sound = self._try_fixes(source, before, trial)
            if is_sound and not errors:
                accepted, outcome, checked = list(trial.applied), trial, after
                continue
            blamed = _blamed(group, trial, errors, after)
            # the number of times that blamed fixes caused an error each
            failures += len(errors) >= len(group)
            if len(group) == 1 or (failures > MAX_FAILURES and len(group) > SMALL_GROUP):
                for item in group:
                    self._dropped[_identity(item)] = item
                    self._entries[_identity(item)] = _entry_of(before, finder, item)
            elif len(blamed) < len(group):
                guilty = set(blamed)
                pending += [(blamed, failures), ([item for item in group if item not in guilty], 0)]
            else:
                middle = len(group) // 2
                pending += [(group[middle:], failures), (group[:middle], failures)]
        return outcome, checked

    def _try_fixes(
        self, source: SourceFile, before: CheckedFile, trial: FixOutcome
    ) -> tuple[CheckedFile | None, list[Diagnostic], bool]:
        """Return the check of the text after some fixes, its new errors, and whether it is readable."""
        try:
            trial.text.encode("utf-8")
        except UnicodeEncodeError:
            return None, [], False
        after = self._tried.get(trial.text)
        if after is None:
            self._trials -= 1
            after = self._tried[trial.text] = self._check(SourceFile(source.path, trial.text))
        errors = _caused_errors(before, after, trial, _new_errors(before.unfiltered, after.unfiltered, trial))
        if after.model.document.problems or after.crashes > before.crashes:
            return after, errors, False
        return after, errors, True


def _blamed(
    group: list[Diagnostic], trial: FixOutcome, errors: list[Diagnostic], after: CheckedFile | None
) -> list[Diagnostic]:
    """Return the most likely culprits among the fixes of a group, at least one: those with new errors in their edits.

    If there are none, the fixes in entries with new errors; else all.
    """
    places = {item.span for item in errors}
    finder = EntryFinder(after.model) if after is not None else None
    entries = {entry.span for place in places if finder is not None and (entry := finder.at(place.start)) is not None}
    for spans in (places, entries):
        touched = _edits_at(trial, spans)
        blamed = [
            item
            for item in group
            if item.fix is not None and any((edit.span, edit.text) in touched for edit in item.fix.edits)
        ]
        if blamed:
            return blamed
    return group


def _edits_at(trial: FixOutcome, places: Iterable[Span]) -> set[tuple[Span, str]]:
    """Return the edits whose new text overlaps or touches one of these spans."""
    made = OffsetMap(trial.edits).made
    starts, ends = [span.start for span in made], [span.end for span in made]
    # spans may be many and long: their starts and ends are counted
    depth = [0] * (len(made) + 1)
    for place in places:
        depth[bisect_left(ends, place.start)] += 1
        depth[max(bisect_left(ends, place.start), bisect_right(starts, place.end))] -= 1
    return {
        (edit.span, edit.text) for edit, inside in zip(trial.edits, accumulate(depth[:-1]), strict=True) if inside > 0
    }


def _new_errors(before: Sequence[Diagnostic], after: Sequence[Diagnostic], trial: FixOutcome) -> list[Diagnostic]:
    """Return the new errors: those without an earlier error at the same position or with the same message.

    A warning that became an error, since it explains an uncovered finding, is not new.
    """
    moves = OffsetMap(trial.edits)
    places = {(item.rule, moves.to(item.span.start)) for item in before}
    counts = Counter(map(_identity, before))
    errors: list[Diagnostic] = []
    for item in after:
        if item.severity is Severity.ERROR and (item.rule, item.span.start) not in places:
            counts[_identity(item)] -= 1
            if counts[_identity(item)] < 0:
                errors.append(item)
    return errors


def _caused_errors(
    before: CheckedFile, after: CheckedFile, trial: FixOutcome, errors: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """Return the new errors, except those that a fixed finding in the same entry had hidden.

    An error was hidden if its rule yields to the rule of the fixed finding, or if the entry did not resolve.
    """
    if not errors:
        return []
    finder, moves = EntryFinder(before.model), OffsetMap(trial.edits)
    fixed: dict[int, set[str]] = {}
    unknown: set[int] = set()
    for item in trial.applied:
        owner = finder.owner(item)
        if owner is not None:
            start = moves.to(owner.span.start)
            fixed.setdefault(start, set()).add(item.rule)
            if owner.function is None:
                unknown.add(start)
    now = EntryFinder(after.model)
    return [error for error in errors if not _is_uncovered(error, now.owner(error), fixed, unknown)]


def _is_uncovered(error: Diagnostic, entry: Entry | None, fixed: Mapping[int, set[str]], unknown: set[int]) -> bool:
    if entry is None or error.rule not in NAMES:
        return False
    start = entry.span.start
    if start in unknown:
        return True
    rules = fixed.get(start, set())
    return any(name in rules for condition in load_rule(error.rule).meta.yields_to for name in condition.rules)


def _entry_of(checked: CheckedFile, finder: EntryFinder, item: Diagnostic) -> str:
    """Return the text of the entry with a finding."""
    owner = finder.owner(item)
    return checked.model.source.text[owner.span.start : owner.span.end] if owner is not None else ""


def _identity(item: Diagnostic) -> _Identity:
    return item.rule, item.entry, item.dispatch, item.key, item.message
