"""What a run of ``derivlint check`` has to say, ready for any format."""

from __future__ import annotations

from dataclasses import dataclass, field

from derivlint.lint import Diagnostic, Severity
from derivlint.source import SourceFile


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run over all files.

    Attributes:
        diagnostics: what is shown, sorted.
        sources: the checked files by the path that diagnostics name.
        entries: the number of entries in all files.
        formulas: the number of formulas in all files.
        suppressed: how many diagnostics comments in the files silence.
        hidden: how many diagnostics lie below the wanted severity or confidence.
        others: more files that diagnostics may point into, such as native_functions.yaml.
    """

    diagnostics: tuple[Diagnostic, ...]
    sources: dict[str, SourceFile]
    entries: int
    formulas: int
    suppressed: int = 0
    hidden: int = 0
    others: dict[str, SourceFile] = field(default_factory=dict)

    def source(self, path: str) -> SourceFile | None:
        """The file of that path, None where it was not read."""
        return self.sources.get(path) or self.others.get(path)

    def count(self, severity: Severity) -> int:
        """The number of diagnostics of one severity."""
        return sum(diagnostic.severity is severity for diagnostic in self.diagnostics)
