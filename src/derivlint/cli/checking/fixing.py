"""``derivlint check --fix``: write or show fixed files."""

from __future__ import annotations

import difflib
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from msgspec.structs import replace

from derivlint.cli.checking.options import FixOptions
from derivlint.cli.shared.terminal import CLEAN, FINDINGS, results_to_stderr, warn, write_exactly
from derivlint.formats import Report
from derivlint.lint import Diagnostic, Rule
from derivlint.lint.fixing import fixable
from derivlint.lint.wording import counted
from derivlint.project.errors import writing
from derivlint.project.files import STDIN
from derivlint.project.filtering.findings import FindingFilter
from derivlint.project.fixing import FixedFile, checker_of, fix_source, repair_of
from derivlint.project.settings import Settings
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, remove_leftovers, visible, write_file

#: The maximum number of listed rejected fixes.
MAX_REPORTED = 10


class FixRunner:
    """Fixes files, and collects the results.

    Attributes:
        only: whether remaining findings are omitted from the report.
        summary: the line with the numbers of fixed and remaining findings, printed at the end of the run.
        fixed: the number of fixed findings.
        changed: the number of files that changed, or would.
    """

    def __init__(self, options: FixOptions) -> None:
        self._options = options
        self._on_stdin = False
        self.only = options.only
        self._output: list[str] = []
        self.summary = ""
        self.fixed = 0
        self.changed = 0

    def fix(
        self,
        path: str,
        source: SourceFile,
        natives: NativeFunctions,
        settings: Settings,
        rules: tuple[Rule, ...],
        finding_filter: FindingFilter | None = None,
    ) -> SourceFile:
        """Fix a file, and write it or collect the output.

        Args:
            path: the file, or ``-``.
            source: its text.
            natives: the operators.
            settings: its settings.
            rules: the rules whose fixes are applied.
            finding_filter: selects the findings to fix.

        Returns:
            the fixed file.

        Raises:
            InputError: the file cannot be written.
        """
        check = checker_of(natives, settings, rules, finding_filter)
        fixed = fix_source(source, check, unsafe=self._options.unsafe, repair=repair_of(settings, rules))
        if not self._options.diff and path != STDIN:
            # remove the leftovers of a killed run even if nothing is to be written
            remove_leftovers(Path(path).resolve().parent)
            if fixed.changed:
                write_fixed(path, fixed.source, fixed.text)
        self._warn(fixed)
        self.fixed += len(fixed.fixed)
        self.changed += fixed.changed
        if self._options.diff:
            self._output += unified_diff(source.path, source.text, fixed.text)
        elif path == STDIN:
            self._on_stdin = True
            self._output.append(fixed.text)
        return fixed.result

    def _warn(self, fixed: FixedFile) -> None:
        path = fixed.source.path
        if not fixed.readable:
            warn(f'not fixed: "{path}" is not valid YAML')
        for item in fixed.dropped[:MAX_REPORTED]:
            line, column = fixed.source.position(item.span.start)
            warn(
                f"{path}:{line}:{column}: not fixed, because the fix causes another error: {item.message} [{item.rule}]"
            )
        if len(fixed.dropped) > MAX_REPORTED:
            warn(f"{len(fixed.dropped) - MAX_REPORTED:,} more fixes would cause errors")
        if fixed.untried:
            fixes = counted(len(fixed.untried), "fix", "fixes")
            warn(f"{path}: {fixes} not applied in the allowed number of rounds; run the command again")

    def conclude(self, report: Report, status: Callable[[bool], int], exit_zero: bool) -> Report:
        """Print the texts or differences.

        If standard output holds a text, the rest of the output goes to standard error. With ``--diff`` the command ends
        here.

        Args:
            report: the report on the fixed files.
            status: returns the exit status, with or without counting findings.
            exit_zero: whether findings do not count.

        Returns:
            the report on the remaining findings.
        """
        context = click.get_current_context()
        write_exactly("".join(self._output))
        self.summary = self._summary(report.diagnostics)
        if self._options.diff:
            warn(self.summary)
            context.exit(status(True) or (FINDINGS if self.changed and not exit_zero else CLEAN))
        if self._on_stdin:
            results_to_stderr()
        return replace(report, diagnostics=() if self.only else report.diagnostics, fixed=self.fixed)

    def _summary(self, remaining: tuple[Diagnostic, ...]) -> str:
        if self._options.diff:
            if not self.changed:
                return "nothing would be fixed" + self._more(remaining)
            return (
                f"would fix {counted(self.fixed, 'finding')} in {counted(self.changed, 'file')}{self._more(remaining)}"
            )
        return f"{self.fixed:,} fixed, {len(remaining):,} left{self._more(remaining)}"

    def _more(self, remaining: tuple[Diagnostic, ...]) -> str:
        unsafe = 0 if self._options.unsafe else sum(fixable(item, unsafe=True) for item in remaining)
        return f"; {unsafe:,} more with --unsafe-fixes" if unsafe else ""


def write_fixed(path: str, source: SourceFile, text: str) -> None:
    """Replace a file, following links, unless it is read-only or was changed meanwhile.

    Raises:
        InputError: the file cannot be written, or was changed since it was read.
    """
    with writing(source.path):
        write_file(Path(path), text.encode("utf-8"), expected=source.text.encode("utf-8"))


def unified_diff(path: str, before: str, after: str) -> Iterator[str]:
    """Return the lines of a unified diff, with line ends; none if the texts are equal."""
    shown = visible(path)
    for line in difflib.unified_diff(_lines(before), _lines(after), shown, shown):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    r"""Split into lines as ``patch`` does: a lone ``\r`` or U+2028 does not end one."""
    return io.StringIO(text, newline="\n").readlines()
