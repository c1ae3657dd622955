"""What of the findings of a file is left: without what comments silence, what is known, and what did not change."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.lint import Diagnostic
from derivlint.project.settings import Settings
from derivlint.rules import EXTRA_FINDINGS, NAMES, RENAMED
from derivlint.source import SourceFile

if TYPE_CHECKING:
    from derivlint.lint.suppressions.suppression import RuleNames
    from derivlint.model import Model

    # few runs have a baseline or ask git
    from derivlint.project.filtering.baselines import BaselineFile
    from derivlint.project.filtering.changes import Changes
    from derivlint.project.filtering.findings import Findings


class Narrowed(Struct, frozen=True):
    """What is left of the findings of a file.

    Attributes:
        kept: the findings that are left.
        suppressed: how many that would be shown comments silence.
        baselined: how many of the others are in the baseline.
        unchanged: how many of the rest are in entries that did not change.
    """

    kept: tuple[Diagnostic, ...]
    suppressed: int = 0
    baselined: int = 0
    unchanged: int = 0


class FindingFilter(Struct, frozen=True):
    """How findings are narrowed down.

    Attributes:
        comments: whether comments silence findings.
        baseline: the findings that are known.
        updates_baseline: whether what is found becomes known.
        finds_stale: whether someone asks for what the baseline knows and does not occur any more.
        changes: where only findings about changes are wanted, what tells them from others.
        native_functions: the files whose changes count.
    """

    comments: bool = True
    baseline: BaselineFile | None = None
    updates_baseline: bool = False
    finds_stale: bool = True
    changes: Changes | None = None
    native_functions: tuple[Path, ...] = ()

    def apply(
        self,
        source: SourceFile,
        diagnostics: tuple[Diagnostic, ...],
        silenced: frozenset[Diagnostic],
        settings: Settings,
        findings: Findings,
        model: Model | None = None,
    ) -> Narrowed:
        """What is left of the findings of a file.

        Args:
            source: the file.
            diagnostics: the findings, sorted.
            silenced: those that comments are about.
            settings: what is shown at all; the rest does not become known.
            findings: what the rules judged.
            model: the file; only needed where changes alone are wanted.

        Raises:
            InputError: changes are asked for and cannot be found out.
        """
        uncommented = diagnostics
        if self.comments and silenced:
            uncommented = tuple(item for item in diagnostics if item not in silenced)
        unknown = uncommented
        if self.baseline is not None:
            unknown = self.baseline.unknown(uncommented, source, findings.ran, findings.unjudged or ())
            if self.updates_baseline:
                unwritten = set(self.baseline.want(uncommented, source, settings.shows))
                unknown = tuple(item for item in unknown if item in unwritten)
        shown = unknown
        if self.changes is not None:
            assert model is not None
            shown = self.changes.about_changes(model, unknown, Path(source.path), self.native_functions)

        def dropped(before: tuple[Diagnostic, ...], after: tuple[Diagnostic, ...]) -> int:
            # what no one would see in any case is not counted
            if after is before:
                return 0
            return sum(map(settings.shows, before)) - sum(map(settings.shows, after))

        return Narrowed(
            shown, dropped(diagnostics, uncommented), dropped(uncommented, unknown), dropped(unknown, shown)
        )


def rule_names(ran: Collection[str] = ()) -> RuleNames:
    """The names that suppressions may use: those of all rules, and of those that ran."""
    from derivlint.lint.suppressions.suppression import RuleNames

    return RuleNames(frozenset((*NAMES, *EXTRA_FINDINGS, *ran)), RENAMED)
