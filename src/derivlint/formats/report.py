"""The results of a run of ``derivlint check``, ready for any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from derivlint.lint import Diagnostic, Severity
from derivlint.source import Position, SourceFile


class NotChecked(Struct, frozen=True):
    """An entry or formula that ``derivlint verify`` could not check.

    Attributes:
        entry: the operator of the entry.
        key: the key of the formula, empty for the entry as a whole.
        why: the kind of reason.
        reason: the reason in words.
    """

    entry: str
    key: str
    why: str
    reason: str


class NotReached(Struct, frozen=True):
    """The parts of a formula that no input of ``derivlint verify`` reached.

    Attributes:
        entry: the operator of the entry.
        key: the key of the formula.
        items: how many things could be reached.
        missing: those that were not, in words.
    """

    entry: str
    key: str
    items: int
    missing: tuple[str, ...]


class Report(Struct, frozen=True):
    """The outcome of a run over all files.

    Attributes:
        diagnostics: what is shown, sorted.
        sources: the checked files by the path that diagnostics name.
        entries: the number of entries in all files.
        formulas: the number of formulas in all files.
        suppressed: how many diagnostics comments in the files silence.
        hidden: how many diagnostics lie below the wanted severity or confidence.
        baselined: how many diagnostics the baseline knows.
        unchanged: how many diagnostics are in entries that did not change, where only changes are wanted.
        fixed: how many findings were fixed.
        unknown_functions: the functions that formulas call and no known header declares.
        related_sources: more files that diagnostics may point into, such as native_functions.yaml and headers.
        problems: what kept files from being checked, as reported.
        root: the folder that paths are relative to where a consumer wants them so.
        fail_levels: for each file, the severity from which on findings count; ``warning`` where it is not named.
        statistics: whether counts for each rule are wanted.
        unchecked: what could not be checked as numbers; None if nothing was to be.
        as_before: findings that the version that is compared with has as well; None if nothing is compared.
        gone: findings that only that version has.
        coverage: what inputs reached of formulas; None if that was not asked for.
        show_fixes: whether the text formats show the fix of each finding.
        exit_status: the status with which ``derivlint check`` exits.
    """

    diagnostics: tuple[Diagnostic, ...]
    sources: dict[str, SourceFile]
    entries: int
    formulas: int
    suppressed: int = 0
    hidden: int = 0
    baselined: int = 0
    unchanged: int = 0
    fixed: int = 0
    unknown_functions: tuple[str, ...] = ()
    related_sources: dict[str, SourceFile] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    root: Path = Path()
    fail_levels: Mapping[str, Severity] = field(default_factory=dict)
    statistics: bool = False
    unchecked: tuple[NotChecked, ...] | None = None
    as_before: tuple[Diagnostic, ...] | None = None
    gone: tuple[Diagnostic, ...] = ()
    coverage: tuple[NotReached, ...] | None = None
    show_fixes: bool = False
    exit_status: int = 0

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """The findings that the settings show, sorted by path, place and rule."""
        return self.diagnostics

    def position(self, finding: Diagnostic) -> Position:
        """Line and column at which a finding begins, counted from 1."""
        return self.file_of(finding).position(finding.span.start)

    def render(self, output_format: str = "json") -> str:
        """The report in one of the formats of ``derivlint check``.

        Raises:
            ValueError: there is no such format.
        """
        # the formats are functions of reports
        formats: Mapping[str, Any] = import_module("derivlint.formats.registry").FORMATS
        if output_format not in formats:
            raise ValueError(f"no format {output_format!r}; there is {', '.join(formats)}")
        return str(formats[output_format].render(self))

    def to_json(self) -> str:
        """The report as ``derivlint check --output-format json`` prints it."""
        return self.render("json")

    @property
    def files(self) -> dict[str, SourceFile]:
        """All files that diagnostics may point into, by path."""
        return {**self.related_sources, **self.sources}

    def source(self, path: str) -> SourceFile | None:
        """The file of that path, None if it was not read."""
        return self.sources.get(path) or self.related_sources.get(path)

    def file_of(self, diagnostic: Diagnostic) -> SourceFile:
        """The file that a diagnostic is in: a checked one, or a header."""
        source = self.source(diagnostic.path)
        assert source is not None
        return source

    def count(self, severity: Severity) -> int:
        """The number of diagnostics of one severity."""
        return sum(diagnostic.severity is severity for diagnostic in self.diagnostics)

    def counts(self) -> list[tuple[str, int]]:
        """The number of diagnostics of each rule, the most frequent first."""
        counter = Counter(diagnostic.rule for diagnostic in self.diagnostics)
        return sorted(counter.items(), key=lambda item: (-item[1], item[0]))

    def fails(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is at the fail level of its file or above."""
        return diagnostic.severity >= self.fail_levels.get(diagnostic.path, Severity.WARNING)
