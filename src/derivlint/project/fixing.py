"""Mending one derivatives file: fixes are applied and the text is checked anew, until nothing is left to fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from derivlint.lint import Diagnostic, Severity
from derivlint.lint.fixing import FixOutcome, apply_fixes, fixable, moved
from derivlint.project.check import CheckedFile
from derivlint.source import SourceFile
from derivlint.source.records import dataclass

#: A fix may make room for another; rules whose fixes undo each other must not go round for ever.
MAX_PASSES = 10
#: How often the text is checked to find the fixes that do harm; what is in doubt after that is left out.
MAX_TRIALS = 60

#: Checks a text.
Checker = Callable[[SourceFile], CheckedFile]
#: What an error is known by where its place has moved.
_Known = tuple[str, str | None, str | None, str | None, str]


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file with everything fixed that can be.

    Attributes:
        source: the file before.
        text: the text after; equal to the one before where nothing was fixed.
        fixed: the diagnostics whose fixes are in it, in the order in which they were applied.
        dropped: those whose fixes would have made another error, or YAML that cannot be read.
        readable: whether it is YAML; nothing is fixed where it is not.
    """

    source: SourceFile
    text: str
    fixed: tuple[Diagnostic, ...]
    dropped: tuple[Diagnostic, ...]
    readable: bool = True

    @property
    def changed(self) -> bool:
        """Whether the text is another one."""
        return self.text != self.source.text

    @property
    def result(self) -> SourceFile:
        """The file after."""
        return SourceFile(self.source.path, self.text, self.source.undecodable)


def fix_source(source: SourceFile, check: Checker, *, unsafe: bool = False) -> FixedFile:
    """Fix a text, check it, and go on until nothing is left to fix.

    What fixes make of a text is kept only if it can be read as YAML and has no error that was not there before. Where
    fixes fail this together, those are left out that are to blame. A text that is no YAML, or that is not UTF-8, is
    left alone: its places cannot be trusted.

    Args:
        source: the text.
        check: checks a text; fixes are taken from what it shows.
        unsafe: whether to apply fixes that may change what is meant.
    """
    return _Fixer(source, check, unsafe).run()


class _Fixer:
    def __init__(self, source: SourceFile, check: Checker, unsafe: bool) -> None:
        self._original = source
        self._check = check
        self._unsafe = unsafe
        self._trials = MAX_TRIALS
        self._fixed: list[Diagnostic] = []
        self._dropped: dict[_Known, Diagnostic] = {}

    def run(self) -> FixedFile:
        source = self._original
        if source.undecodable is not None:
            return FixedFile(source, source.text, (), (), readable=False)
        checked = self._check(source)
        if checked.model.document.problems:
            return FixedFile(source, source.text, (), (), readable=False)
        seen = {source.text}
        for _ in range(MAX_PASSES):
            candidates = [
                item for item in checked.shown if fixable(item, self._unsafe) and _known(item) not in self._dropped
            ]
            outcome, after = self._harmless(source, checked, candidates)
            if after is None or outcome.text in seen:
                break
            seen.add(outcome.text)
            self._fixed += outcome.applied
            source, checked = after.model.source, after
        return FixedFile(self._original, source.text, tuple(self._fixed), tuple(self._dropped.values()))

    def _harmless(
        self, source: SourceFile, before: CheckedFile, candidates: list[Diagnostic]
    ) -> tuple[FixOutcome, CheckedFile | None]:
        """The outcome of as many fixes as do no harm together, and the check of it; None where there is none."""
        kept: list[Diagnostic] = []
        outcome, checked = FixOutcome(source.text, (), ()), None
        # those that are applied together stay compatible in any part of them; the others wait for the next pass
        together = list(apply_fixes(source, candidates, unsafe=self._unsafe).applied)
        pending = [together] if together else []
        while pending:
            group = pending.pop()
            trial = apply_fixes(source, (*kept, *group), unsafe=self._unsafe)
            after = self._judged(source, before, trial)
            if after is not None:
                kept, outcome, checked = list(trial.applied), trial, after
            elif len(group) == 1 or self._trials <= 0:
                self._dropped.update((_known(item), item) for item in group)
            else:
                middle = len(group) // 2
                pending += (group[middle:], group[:middle])
        return outcome, checked

    def _judged(self, source: SourceFile, before: CheckedFile, trial: FixOutcome) -> CheckedFile | None:
        """The check of the text after some fixes; None where it is worse than the one before."""
        self._trials -= 1
        try:
            trial.text.encode("utf-8")
        except UnicodeEncodeError:
            return None
        after = self._check(SourceFile(source.path, trial.text))
        if after.model.document.problems or after.crashes > before.crashes:
            return None
        return None if _new_errors(before.found, after.found, trial) else after


def _new_errors(before: Sequence[Diagnostic], after: Sequence[Diagnostic], trial: FixOutcome) -> bool:
    """Whether there are errors that were not there before: neither at the same place nor with the same words."""
    places: set[tuple[str, int]] = set()
    known: Counter[_Known] = Counter()
    for item in before:
        if item.severity is Severity.ERROR:
            places.add((item.rule, moved(item.span.start, trial.edits)))
            known[_known(item)] += 1
    for item in after:
        if item.severity is Severity.ERROR and (item.rule, item.span.start) not in places:
            known[_known(item)] -= 1
            if known[_known(item)] < 0:
                return True
    return False


def _known(item: Diagnostic) -> _Known:
    return item.rule, item.entry, item.dispatch, item.key, item.message
