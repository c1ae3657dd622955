"""The findings of a file, and their selection.

Settings, comments, baselines and changes filter findings. No rule runs here: findings may come from the cache.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.lint import Diagnostic
from derivlint.lint.diagnostic import Unjudged
from derivlint.project.settings import Settings
from derivlint.rules import EXTRA_FINDINGS, NAMES, RENAMED
from derivlint.source import SourceFile

if TYPE_CHECKING:
    from derivlint.lint.suppressions.suppression import RuleNames
    from derivlint.model import Model

    # lazy: few runs have a baseline or use git
    from derivlint.project.filtering.baselines import BaselineFile
    from derivlint.project.filtering.changes import ChangeFilter


class Findings(Struct, frozen=True):
    """All findings of a file, before settings and filters are applied.

    Attributes:
        diagnostics: the findings, sorted, with the severities of the rules.
        silenced: the suppressed ones among them.
        ran: the names of the rules that ran.
        crashes: the number of crashed checks; each is a diagnostic as well.
        entries: the number of entries.
        formulas: the number of formulas.
        unjudged: names of operators, each with the rules that ran but did not judge their entries, so that findings may
            be missing. An empty name is for findings outside of entries. None unless a baseline needs it.
        unknown_functions: the called functions that no known header declares.
    """

    diagnostics: tuple[Diagnostic, ...]
    silenced: frozenset[Diagnostic]
    ran: frozenset[str]
    crashes: int
    entries: int
    formulas: int
    unjudged: Unjudged | None = None
    unknown_functions: frozenset[str] = frozenset()


class NarrowedFindings(Struct, frozen=True):
    """The selected findings of a file.

    Attributes:
        diagnostics: the selected findings.
        suppressed: the number of suppressed findings among those to show.
        baselined: the number of the remaining ones in the baseline.
        unchanged: the number of the rest in unchanged entries.
    """

    diagnostics: tuple[Diagnostic, ...]
    suppressed: int = 0
    baselined: int = 0
    unchanged: int = 0


class FindingFilter(Struct, frozen=True):
    """Selects findings by comments, a baseline and changes.

    Attributes:
        comments: whether comments suppress findings.
        baseline: the known findings.
        updates_baseline: whether current findings are added to the baseline.
        finds_stale: whether to collect findings of the baseline that no longer occur.
        changes: the filter for findings about changes, or None for all findings.
        native_functions: the files whose changes count.
    """

    comments: bool = True
    baseline: BaselineFile | None = None
    updates_baseline: bool = False
    finds_stale: bool = True
    changes: ChangeFilter | None = None
    native_functions: tuple[Path, ...] = ()

    def apply(
        self,
        source: SourceFile,
        diagnostics: tuple[Diagnostic, ...],
        silenced: frozenset[Diagnostic],
        settings: Settings,
        findings: Findings,
        model: Model | None = None,
    ) -> NarrowedFindings:
        """Select the findings of a file.

        Args:
            source: the file.
            diagnostics: the findings, sorted.
            silenced: the suppressed ones among them.
            settings: the severities and confidences to show; hidden findings are not added to a baseline.
            findings: the result with the rules that ran, and the entries not judged.
            model: the file; only needed to select changes.

        Raises:
            InputError: the changes cannot be determined.
        """
        uncommented = diagnostics
        if self.comments and silenced:
            uncommented = tuple(item for item in diagnostics if item not in silenced)
        new_findings = uncommented
        if self.baseline is not None:
            new_findings = self.baseline.new_findings(uncommented, source, findings.ran, findings.unjudged or ())
            if self.updates_baseline:
                unwritten = set(self.baseline.record(uncommented, source, settings.shows))
                new_findings = tuple(item for item in new_findings if item in unwritten)
        shown = new_findings
        if self.changes is not None:
            assert model is not None
            shown = self.changes.about_changed(model, new_findings, Path(source.path), self.native_functions)

        def dropped(before: tuple[Diagnostic, ...], after: tuple[Diagnostic, ...]) -> int:
            # hidden findings are not counted
            if after is before:
                return 0
            return sum(map(settings.shows, before)) - sum(map(settings.shows, after))

        return NarrowedFindings(
            shown, dropped(diagnostics, uncommented), dropped(uncommented, new_findings), dropped(new_findings, shown)
        )


class FilteredFindings(Struct, frozen=True):
    """The findings of a file after all filters.

    Attributes:
        findings: the findings before any filter.
        shown: the diagnostics that the settings show, sorted.
        hidden: the number of diagnostics below the minimum severity or confidence.
        fails: whether a shown diagnostic is at or above the fail level.
        unfiltered: all findings, including those that suppressions, the baseline and the settings hide.
        suppressed: the number of suppressed diagnostics.
        baselined: the number of diagnostics in the baseline.
        unchanged: the number of diagnostics in unchanged entries, if only changes are checked.
    """

    findings: Findings
    shown: tuple[Diagnostic, ...]
    hidden: int
    fails: bool
    unfiltered: tuple[Diagnostic, ...]
    suppressed: int
    baselined: int
    unchanged: int

    @property
    def crashes(self) -> int:
        """The number of crashed checks."""
        return self.findings.crashes


def filter_findings(
    findings: Findings,
    source: SourceFile,
    settings: Settings,
    finding_filter: FindingFilter | None = None,
    model: Model | None = None,
) -> FilteredFindings:
    """Apply settings and filters to the findings of a file.

    Args:
        findings: the findings.
        source: the file.
        settings: severities, ignored rules, and the minimum to show.
        finding_filter: selects findings; by default those that are not suppressed, unless untrusted.
        model: the file; only needed to select changes.

    Raises:
        InputError: the changes cannot be determined.
    """
    reported = settings.adjusted(findings.diagnostics, source.path)
    finding_filter = finding_filter or FindingFilter(comments=not settings.untrusted)
    narrowed = finding_filter.apply(source, reported, findings.silenced, settings, findings, model)
    shown = settings.shown(narrowed.diagnostics)
    return FilteredFindings(
        findings,
        shown,
        hidden=len(narrowed.diagnostics) - len(shown),
        fails=any(item.severity >= settings.fail_level for item in shown),
        unfiltered=reported,
        suppressed=narrowed.suppressed,
        baselined=narrowed.baselined,
        unchanged=narrowed.unchanged,
    )


def rule_names(ran: Collection[str] = ()) -> RuleNames:
    """Return the names that suppressions may use: those of all rules, including external ones that ran."""
    from derivlint.lint.suppressions.suppression import RuleNames

    return RuleNames(frozenset((*NAMES, *EXTRA_FINDINGS, *ran)), RENAMED)
