"""The results of a run of ``derivlint check``, for any format."""

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
        reason: the reason, as a message.
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
        items: the number of items to reach.
        missing: descriptions of the items that were not reached.
    """

    entry: str
    key: str
    items: int
    missing: tuple[str, ...]


class Report(Struct, frozen=True):
    """The results of a run over all files.

    Attributes:
        diagnostics: the shown findings, sorted.
        sources: the checked files by the path that diagnostics name.
        entries: the number of entries in all files.
        formulas: the number of formulas in all files.
        suppressed: the number of suppressed diagnostics.
        hidden: the number of diagnostics below the minimum severity or confidence.
        baselined: the number of diagnostics in the baseline.
        unchanged: the number of diagnostics in unchanged entries, if only changes are checked.
        fixed: the number of fixed findings.
        unknown_functions: the called functions that no known header declares.
        related_sources: further files of diagnostics, such as native_functions.yaml and headers.
        problems: the reported reasons why files were not checked.
        root: the folder for relative paths.
        fail_levels: the lowest severity that makes the command fail, by file; ``warning`` by default.
        statistics: whether to show counts for each rule.
        unchecked: the entries and formulas without numerical check; None if there was none.
        as_before: the findings shared with the earlier version, or None without one.
        gone: the findings of the earlier version only.
        coverage: the coverage of formulas by inputs, or None.
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
        """Return the line and column of a finding's start, counted from 1."""
        return self.file_of(finding).position(finding.span.start)

    def render(self, output_format: str = "json") -> str:
        """Render the report in one of the formats of ``derivlint check``.

        Raises:
            ValueError: the format does not exist.
        """
        # the formats are functions of reports
        formats: Mapping[str, Any] = import_module("derivlint.formats.registry").FORMATS
        if output_format not in formats:
            raise ValueError(f"no format {output_format!r}; there is {', '.join(formats)}")
        return str(formats[output_format].render(self))

    def to_json(self) -> str:
        """Return the JSON document of ``derivlint check --output-format json``."""
        return self.render("json")

    @property
    def files(self) -> dict[str, SourceFile]:
        """All files that diagnostics may point into, by path."""
        return {**self.related_sources, **self.sources}

    def source(self, path: str) -> SourceFile | None:
        """Return the file with a path, or None if it was not read."""
        return self.sources.get(path) or self.related_sources.get(path)

    def file_of(self, diagnostic: Diagnostic) -> SourceFile:
        """Return the file of a diagnostic: a checked one, or a header."""
        source = self.source(diagnostic.path)
        assert source is not None
        return source

    def count(self, severity: Severity) -> int:
        """Return the number of diagnostics of a severity."""
        return sum(diagnostic.severity is severity for diagnostic in self.diagnostics)

    def counts(self) -> list[tuple[str, int]]:
        """Return the number of diagnostics of each rule, the most frequent first."""
        counter = Counter(diagnostic.rule for diagnostic in self.diagnostics)
        return sorted(counter.items(), key=lambda item: (-item[1], item[0]))

    def fails(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is at the fail level of its file or above."""
        return diagnostic.severity >= self.fail_levels.get(diagnostic.path, Severity.WARNING)
