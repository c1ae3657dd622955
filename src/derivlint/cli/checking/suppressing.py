"""Suppression of findings: comments, baselines, unchanged entries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from derivlint.cli.checking.options import SuppressionOptions
from derivlint.cli.shared.terminal import CLEAN, FINDINGS, results_to_stderr, warn, write_exactly
from derivlint.lint.wording import counted
from derivlint.project.errors import InputError
from derivlint.project.files import STDIN
from derivlint.project.filtering.findings import FindingFilter
from derivlint.project.operators import INSTALLED, Operators
from derivlint.project.settings import Settings

if TYPE_CHECKING:
    from derivlint.project.check import CheckedFile
    from derivlint.project.filtering.baselines import BaselineFile
    from derivlint.project.filtering.changes import ChangeFilter
    from derivlint.project.filtering.ignoring import Checker


class SuppressionRunner:
    """Applies the options that suppress findings, and collects their results."""

    def __init__(self, options: SuppressionOptions, *, fixes: bool = False) -> None:
        """Validate the options; ``fixes`` is whether fixes are applied as well.

        Raises:
            InputError: options contradict each other.
        """
        if options.add_ignores is not None and fixes:
            raise InputError('use "--add-ignores" or "--fix", one after the other')
        self._options = options
        self._changes: ChangeFilter | None = None
        if options.diff_base is not None:
            from derivlint.project.filtering.changes import ChangeFilter

            self._changes = ChangeFilter(options.diff_base)
        self._baselines: dict[Path, BaselineFile] = {}
        self._texts: list[str] = []
        self._added = self._changed = 0

    @property
    def adds_ignores(self) -> bool:
        """Whether suppression comments are added to files."""
        return self._options.add_ignores is not None

    def finding_filter(self, settings: Settings, operators: Operators) -> FindingFilter:
        """Return the filter of a file's findings.

        Raises:
            InputError: the baseline cannot be read, or there is none to update.
        """
        options = self._options
        return FindingFilter(
            comments=not options.no_ignores and not settings.untrusted,
            baseline=self._baseline(settings.baseline),
            updates_baseline=options.update_baseline,
            changes=self._changes,
            # the functions of an installed PyTorch are outside of the repository
            native_functions=operators.native_functions if settings.torch != INSTALLED else (),
        )

    def _baseline(self, path: Path | None) -> BaselineFile | None:
        """Return the baseline of a file's settings, read once."""
        options = self._options
        writes = options.update_baseline or options.prune_baseline
        if path is None and not writes:
            return None
        if path is None or path not in self._baselines:
            from derivlint.project.filtering.baselines import BaselineFile

            chosen = BaselineFile.chosen(path, updates=options.update_baseline, writes=writes)
            if path is None or chosen is None:
                return chosen
            self._baselines[path] = chosen
        return self._baselines[path]

    def add_ignores(self, path: str, checked: CheckedFile, check: Checker) -> CheckedFile:
        """Add suppression comments, if requested, and write the file or collect the output.

        Returns:
            the check of the resulting file.

        Raises:
            InputError: no comments can be added, or the file cannot be written.
        """
        reason = self._options.add_ignores
        if reason is None:
            return checked
        from derivlint.project.filtering.ignoring import add_ignores

        ignored = add_ignores(checked, check, reason.strip())
        if path == STDIN:
            self._texts.append(ignored.source.text)
        elif ignored.silenced:
            from derivlint.cli.checking.fixing import write_fixed

            write_fixed(path, checked.model.source, ignored.source.text)
        self._added += len(ignored.silenced)
        self._changed += bool(ignored.silenced)
        return ignored.checked

    def conclude(self, status: int, exit_zero: bool) -> int:
        """Print the texts, write baselines and report their stale findings.

        Args:
            status: the exit status so far.
            exit_zero: whether findings do not count.

        Returns:
            the exit status.

        Raises:
            InputError: a baseline cannot be written.
        """
        if self._options.add_ignores is not None:
            warn(f"added comments for {counted(self._added, 'finding')} to {counted(self._changed, 'file')}")
        if self._texts:
            write_exactly("".join(self._texts))
            results_to_stderr()
        if status not in (CLEAN, FINDINGS):
            # the findings of a crashed rule or an unreadable file would look resolved
            return status
        for baseline in self._baselines.values():
            status = max(status, self._judge(baseline, exit_zero))
        return status

    def _judge(self, baseline: BaselineFile, exit_zero: bool) -> int:
        if self._options.update_baseline:
            warn(f'wrote {counted(baseline.update(), "finding")} to the baseline "{baseline.path}"')
            return CLEAN
        if self._options.prune_baseline:
            warn(f'removed {counted(baseline.prune(), "finding")} from the baseline "{baseline.path}"')
            return CLEAN
        stale = list(baseline.stale_lines())
        for line in stale:
            warn(line)
        return FINDINGS if stale and not exit_zero else CLEAN
