"""What settings, comments, baselines and changes leave of the findings of a file.

Nothing here needs a model: findings may come from the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from derivlint.lint import Diagnostic
from derivlint.project.filtering.finding_filter import FindingFilter
from derivlint.project.filtering.findings import Findings
from derivlint.project.settings import Settings
from derivlint.source import SourceFile

if TYPE_CHECKING:
    from derivlint.model import Model


class Outcome(Struct, frozen=True):
    """What is left of the findings.

    Attributes:
        findings: the findings.
        shown: the diagnostics that the settings show, sorted.
        hidden: how many diagnostics lie below the wanted severity or confidence.
        fails: whether something shown is at the fail level or above.
        found: everything that was found, whatever comments, the baseline and the settings hide.
        suppressed: how many diagnostics comments silence.
        baselined: how many the baseline knows.
        unchanged: how many are in entries that did not change, where only changes are wanted.
    """

    findings: Findings
    shown: tuple[Diagnostic, ...]
    hidden: int
    fails: bool
    found: tuple[Diagnostic, ...]
    suppressed: int
    baselined: int
    unchanged: int

    @property
    def crashes(self) -> int:
        """How many checks of rules crashed."""
        return self.findings.crashes


def judge(
    findings: Findings,
    source: SourceFile,
    settings: Settings,
    finding_filter: FindingFilter | None = None,
    model: Model | None = None,
) -> Outcome:
    """What is left of the findings of a file.

    Args:
        findings: the findings.
        source: the file.
        settings: what is shown and what counts.
        finding_filter: what is left of the findings; by default what comments do not silence, where they may.
        model: the file; only needed where changes alone are wanted.

    Raises:
        InputError: only changes are wanted and cannot be found out.
    """
    reported = settings.judged(findings.diagnostics, source.path)
    finding_filter = finding_filter or FindingFilter(comments=not settings.untrusted)
    narrowed = finding_filter.apply(source, reported, findings.silenced, settings, findings, model)
    shown = settings.shown(narrowed.kept)
    return Outcome(
        findings,
        shown,
        hidden=len(narrowed.kept) - len(shown),
        fails=any(item.severity >= settings.fail_level for item in shown),
        found=reported,
        suppressed=narrowed.suppressed,
        baselined=narrowed.baselined,
        unchanged=narrowed.unchanged,
    )
