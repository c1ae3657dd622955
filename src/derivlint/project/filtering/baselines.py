"""Baseline files: reading, detection of stale findings, and writing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from derivlint.lint import Diagnostic
from derivlint.lint.baseline import (
    NEVER_KNOWN,
    Baseline,
    BaselineError,
    entry_of,
    read_baseline,
    render_baseline,
)
from derivlint.lint.diagnostic import Unjudged
from derivlint.lint.fingerprint import Identity
from derivlint.lint.wording import counted, quoted
from derivlint.project.errors import InputError, writing
from derivlint.source import SourceError, SourceFile, read_bytes, write_file

#: The maximum number of stale findings that are listed.
MAX_REPORTED = 5


class BaselineFile:
    """A baseline file during a run.

    Attributes:
        path: the file.
        baseline: its contents.
    """

    def __init__(self, path: Path, baseline: Baseline) -> None:
        self.path = path
        self.baseline = baseline
        self._judged: dict[str, Callable[[Identity], bool]] = {}
        self._recorded: dict[str, Counter[Identity]] = {}

    @classmethod
    def read(cls, path: Path, *, may_be_missing: bool = False) -> BaselineFile:
        """Read a baseline.

        Args:
            path: the file.
            may_be_missing: whether a missing file is an empty baseline.

        Raises:
            InputError: the file cannot be read, or is not a baseline.
        """
        # a dangling link counts as missing: writing creates its target
        if not os.path.exists(path) and not os.path.isdir(path):
            if may_be_missing:
                return cls(path, Baseline())
            raise InputError(f'no baseline "{path}"; create it with --update-baseline')
        try:
            text = read_bytes(path, str(path)).decode("utf-8")
        except SourceError as error:
            raise InputError(str(error)) from error
        except ValueError as error:
            raise InputError(f'cannot read "{path}": it is not UTF-8') from error
        try:
            return cls(path, read_baseline(text))
        except BaselineError as error:
            raise InputError(f'cannot read the baseline "{path}": {error}') from error

    @classmethod
    def chosen(cls, path: Path | None, *, updates: bool, writes: bool) -> BaselineFile | None:
        """Return the baseline named by the command line or the configuration, or None.

        Args:
            path: the file, or None.
            updates: whether it is rewritten, so that it may be missing.
            writes: whether it is modified, so that there must be one.

        Raises:
            InputError: the baseline cannot be read, or no baseline is named to modify.
        """
        if path is not None:
            return cls.read(path, may_be_missing=updates)
        if writes:
            raise InputError('there is no baseline: name a file with "--baseline" or in the configuration')
        return None

    def name_of(self, source: SourceFile) -> str:
        """Return the name of a checked file in the baseline: relative to the baseline, with slashes."""
        folder = os.path.realpath(self.path.parent)
        try:
            name = os.path.relpath(os.path.realpath(source.path), folder)
        except ValueError:
            # on another drive
            name = os.path.realpath(source.path)
        return name.replace(os.sep, "/")

    def new_findings(
        self,
        diagnostics: tuple[Diagnostic, ...],
        source: SourceFile,
        ran: Collection[str],
        unjudged: Unjudged = (),
    ) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of a file that are not in the baseline.

        Args:
            diagnostics: the findings, sorted.
            source: the file.
            ran: the rules that ran; findings of other rules are not stale.
            unjudged: operators with the rules that ran but did not judge them.
        """
        name = self.name_of(source)
        without = {(entry, rule) for entries, rules in unjudged for entry in entries for rule in rules}
        named = {"", *(entry for entries, rules in unjudged if not rules for entry in entries)}

        def is_judged(key: Identity) -> bool:
            doubtful = len(named) > 1 and key.entry not in named
            return key.rule in ran and not doubtful and (key.entry, key.rule) not in without

        self._judged[name] = is_judged
        return self.baseline.unknown(diagnostics, source, name)

    def record(
        self, diagnostics: tuple[Diagnostic, ...], source: SourceFile, shows: Callable[[Diagnostic], bool]
    ) -> tuple[Diagnostic, ...]:
        """Record the findings of a file for an update of the baseline.

        Args:
            diagnostics: the findings.
            source: the file.
            shows: returns whether a finding is shown; hidden findings are not added.

        Returns:
            The findings that are not recorded.
        """
        name = self.name_of(source)
        recorded = {item for item in diagnostics if item.rule not in NEVER_KNOWN and shows(item)}
        self._recorded[name] = Counter(entry_of(item, source, name) for item in recorded)
        return tuple(item for item in diagnostics if item not in recorded)

    @property
    def stale(self) -> Counter[Identity]:
        """The findings of the baseline that no longer occur."""
        return self.baseline.stale(self._judged, lambda name: os.path.exists(self.path.parent / name))

    def stale_lines(self) -> Iterator[str]:
        """Yield the lines that report stale findings."""
        stale = self.stale
        if not stale:
            return
        number = sum(stale.values())
        verb = "is" if number == 1 else "are"
        fact = f'"{self.path}": {counted(number, "baseline entry", "baseline entries")} {verb} stale'
        yield f"{fact}; --prune-baseline removes {'it' if number == 1 else 'them'}"
        for key, _ in sorted(stale.items())[:MAX_REPORTED]:
            of = f" of {quoted(key.entry)}" if key.entry else ""
            where = f", {quoted(key.key)}" if key.key else ""
            yield f"  {key.path}: {key.rule}{of}{where}: {key.text}"
        if len(stale) > MAX_REPORTED:
            yield f"  and {len(stale) - MAX_REPORTED:,} more"

    def prune(self) -> int:
        """Write the baseline without stale findings, and return their number.

        Raises:
            InputError: the file cannot be written.
        """
        stale = self.stale
        if stale:
            self._write(Baseline(self.baseline.known - stale))
        return sum(stale.values())

    def update(self) -> int:
        """Write the baseline with the current findings, and return their number.

        Raises:
            InputError: the file cannot be written.
        """
        identities: Counter[Identity] = Counter()
        for recorded in self._recorded.values():
            identities += recorded
        updated = self.baseline.updated(identities, self.stale)
        self._write(updated)
        return sum(updated.known.values())

    def _write(self, baseline: Baseline) -> None:
        with writing(self.path):
            write_file(self.path, render_baseline(baseline).encode("utf-8", "backslashreplace"))
