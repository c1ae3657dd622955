"""The report of ``derivlint verify``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct

from derivlint.cli.shared.output import OutputOptions
from derivlint.cli.shared.terminal import CLEAN, FINDINGS, UNCHECKED, warn
from derivlint.cli.verification.verify_page import FindingDetail, page_of, write_page
from derivlint.formats import NotChecked, NotReached, Report
from derivlint.lint import Diagnostic
from derivlint.lint.changes import changed_entries
from derivlint.lint.suppressions.suppression import suppressions_of
from derivlint.lint.wording import counted
from derivlint.model import Model
from derivlint.project.errors import InputError
from derivlint.project.filtering.baselines import BaselineFile
from derivlint.project.filtering.findings import FindingFilter, Findings, filter_findings, rule_names
from derivlint.project.settings import Settings
from derivlint.rules import NUMERIC
from derivlint.schema import installed_torch
from derivlint.source import SourceFile, Span, replace_file
from derivlint.verify.base import Base
from derivlint.verify.comparison.failures import CRASH
from derivlint.verify.comparison.verdicts import FindingVerdict
from derivlint.verify.findings import JudgedFinding, judged_findings
from derivlint.verify.outcome import FormulaCoverage, RunOutcome, coverage, figure
from derivlint.verify.replay import script_of
from derivlint.verify.reproduction import is_script
from derivlint.verify.runner import RunOptions
from derivlint.verify.unchecked import SkipReason, Unchecked

#: The summary's wording for unchecked entries and formulas, by kind of reason.
_WORDS = {
    SkipReason.NO_INPUTS: "without inputs",
    SkipReason.OTHER_SCHEMA: "with another schema installed",
    SkipReason.NOT_IN_TORCH: "that the installed PyTorch lacks",
    SkipReason.NO_DEVICE: "without the device",
    SkipReason.NO_FUNCTION: "without a function",
    SkipReason.NOT_CALLABLE: "that cannot be called",
    SkipReason.NOT_COMPARED: "that nothing can be compared with",
    SkipReason.CRASHED: "crashed",
    SkipReason.KILLED: "killed",
    SkipReason.OUT_OF_MEMORY: "out of memory",
    SkipReason.TIMED_OUT: "out of time",
    SkipReason.HUNG: "hung",
    SkipReason.FAILED: "failed",
    SkipReason.BROKEN_OFF: "left when the run was interrupted",
}
#: The reasons for which a formula counts as requested if it is selected by name.
_CHECKABLE = (SkipReason.NOT_CALLABLE, SkipReason.NOT_COMPARED)
#: The message if nothing was compared.
_VACUOUS = "nothing is checked: no formula was compared with anything"
#: The maximum number of listed names per kind of reason, unless --verbose is given.
_MAX_LISTED = 8


class VerifyReporter(Struct, frozen=True):
    """Reports the outcome of a run.

    Attributes:
        model: the file.
        settings: the settings of the file.
        operators: the operators whose entries were requested, or None for all.
        named: whether they were requested by name.
        scripts: the folder for scripts, or None.
        page: the file for a page of Markdown, or None.
        shows_coverage: whether to list the parts of formulas that no input reached.
        baseline: the file of known findings, or None.
        updates_baseline: whether to write the findings to the baseline.
        exit_zero: whether findings do not count for the exit status.
        requires_all: whether every requested formula must be checked.
        base: the base of comparison, or None.
        run: the options of the run.
    """

    model: Model
    settings: Settings
    operators: Collection[str] | None
    named: bool
    scripts: Path | None
    page: Path | None
    shows_coverage: bool
    baseline: BaselineFile | None
    updates_baseline: bool
    exit_zero: bool
    requires_all: bool = False
    base: Base | None = None
    run: RunOptions = RunOptions()

    def report(self, outcome: RunOutcome, output: OutputOptions) -> int:
        """Report the findings, and return the exit status.

        Raises:
            InputError: a file cannot be written.
        """
        model, settings, baseline = self.model, self.settings, self.baseline
        judged_diagnostics = judged_findings(model, outcome)
        every = tuple(item.diagnostic for item in judged_diagnostics if item.verdict in (None, FindingVerdict.NEW))
        as_before, gone = (
            tuple(item.diagnostic for item in judged_diagnostics if item.verdict is verdict)
            for verdict in (FindingVerdict.UNCHANGED, FindingVerdict.GONE)
        )
        names = rule_names(NUMERIC)
        checked = {name for name, state in outcome.checked.items() if state.why is None}
        formulas = sum(function.spec.operator in checked for function in outcome.functions)
        entries = len(checked)
        silenced = frozenset(suppressions_of(model).matches(every, names))
        findings = Findings(every, silenced, frozenset(NUMERIC), 0, entries, formulas)
        finding_filter = FindingFilter(baseline=baseline, updates_baseline=self.updates_baseline)
        judged = filter_findings(findings, model.source, settings, finding_filter)
        unchecked = self._unchecked(outcome)
        crashes = [item for item in every if item.rule == CRASH and item not in judged.shown]
        accepted = {item.entry for item in (*crashes, *as_before) if item.rule == CRASH}
        missing = [reason for reason in unchecked if self._was_requested(reason, accepted)]
        problems = [*map(str, missing)]
        requests_any = self.operators is None or bool(self.operators)
        compares_any = any(state.compared for state in outcome.checked.values())
        is_vacuous = requests_any and not judged_diagnostics and not compares_any
        if is_vacuous:
            problems.append(_VACUOUS)
        if self.scripts is not None:
            _write_scripts(judged_diagnostics, model, self.base, self.run, self.scripts)
        output.show(
            Report(
                diagnostics=judged.shown,
                sources={model.source.path: model.source},
                entries=entries,
                formulas=formulas,
                hidden=judged.hidden,
                suppressed=judged.suppressed,
                baselined=judged.baselined,
                fail_levels={model.source.path: settings.fail_level},
                problems=tuple(problems),
                unchecked=tuple(
                    NotChecked(
                        reason.operator,
                        reason.key,
                        reason.why.value,
                        reason.reason,
                    )
                    for reason in unchecked
                ),
                as_before=None if outcome.base is None else as_before,
                gone=gone,
                coverage=tuple(
                    NotReached(
                        reason.operator,
                        reason.key,
                        reason.items,
                        reason.missing,
                    )
                    for reason in coverage(outcome)
                )
                if self.shows_coverage
                else None,
            ),
            # "no findings" would be wrong
            quiet=is_vacuous,
        )
        new = "found" if outcome.base is None else "new"
        sections = ((new, judged.shown), ("as before", as_before), ("gone", gone))
        details = [self._detail(item) for item in judged_diagnostics if item.diagnostic in judged.shown]
        write_page(self.page, page_of(sections, entries, details))
        if not output.quiet:
            _summarize(outcome, unchecked)
            self._report_known_findings(as_before, gone, output)
        if self.shows_coverage:
            _report_coverage(coverage(outcome))
        self._report_unchecked(unchecked, missing, output)
        if is_vacuous:
            warn(_VACUOUS)
        status = UNCHECKED if problems else CLEAN
        if baseline is not None and self.updates_baseline:
            warn(f'wrote {counted(baseline.update(), "finding")} to the baseline "{baseline.path}"')
            return output.status(status)
        if judged.fails and not self.exit_zero:
            return output.status(FINDINGS)
        return output.status(status)

    def _detail(self, item: JudgedFinding) -> FindingDetail:
        """Return a finding with its formula before and after, and its input."""
        finding, source = item.diagnostic, self.model.source
        before = next(
            (
                formula.value_span
                for entry in (self.base.model.entries if self.base is not None else ())
                for formula in entry.formulas
                if (entry.operator, formula.key_text) == (finding.entry, finding.key)
            ),
            None,
        )
        return FindingDetail(
            finding,
            f"{source.path}:{source.position(finding.span.start).line}",
            "" if before is None or self.base is None else _text(self.base.model, before),
            _text(self.model, finding.span),
            item.failure.get("arguments", ""),
        )

    def _unchecked(self, outcome: RunOutcome) -> list[Unchecked]:
        """Return the unchecked entries and formulas, including operators without a formula."""
        unchecked = outcome.unchecked()
        reported = set(outcome.checked) | {item.operator for item in unchecked if not item.key}
        reported |= {item.spec.operator for item in outcome.collected.functions}
        reason = 'it has no formula to check; "derivlint check" reports the reason'
        without = sorted(set(self.operators or ()) - reported)
        return unchecked + [Unchecked(name, "", SkipReason.NO_FUNCTION, reason) for name in without]

    def _was_requested(self, item: Unchecked, accepted: Collection[str | None]) -> bool:
        """Whether an unchecked entry or formula was requested.

        Args:
            item: the unchecked entry or formula.
            accepted: the operators whose crash is known and accepted.
        """
        if self.requires_all or (self.named and (not item.key or item.why in _CHECKABLE)):
            return True
        return item.why.is_error and not (item.why is SkipReason.CRASHED and item.operator in accepted)

    def _report_known_findings(
        self, as_before: Sequence[Diagnostic], gone: Sequence[Diagnostic], output: OutputOptions
    ) -> None:
        """Report unchanged findings, one by one if they are few, and resolved ones."""
        for title, items, listed in (
            ("as before", as_before, output.verbose or len(as_before) <= _MAX_LISTED),
            ("gone", gone, True),
        ):
            if listed:
                for item in items:
                    more = f" ({item.help})" if item.help and output.verbose else ""
                    warn(f"{title}: {item.entry}, {item.key}: {item.message} [{item.rule}]{more}")
            elif items:
                warn(f"as before: {counted(len(items), 'finding')} (--verbose lists them, --no-base shows them)")

    def _report_unchecked(
        self, unchecked: Sequence[Unchecked], missing: Sequence[Unchecked], output: OutputOptions
    ) -> None:
        """Report unchecked formulas with reasons: each one for a few entries, else one line per kind.

        Args:
            unchecked: the unchecked entries and formulas.
            missing: those that were requested.
            output: the output options.
        """
        alone = [
            item
            for item in unchecked
            # each formula that cannot be called has a reason of its own
            if self.operators is not None or output.verbose or item in missing or item.why is SkipReason.NOT_CALLABLE
        ]
        alike = Counter(item.reason for item in alone)
        for item in alone:
            if output.verbose or alike[item.reason] <= _MAX_LISTED:
                warn(str(item))
        for reason, count in alike.items():
            if not output.verbose and count > _MAX_LISTED:
                warn(f"{count} entries and formulas are not checked (--verbose lists them): {reason}")
        rest: dict[tuple[SkipReason, bool], list[str]] = {}
        for item in unchecked:
            if item not in alone:
                rest.setdefault((item.why, bool(item.key)), []).append(f"{item.operator} {item.key}".strip())
        for (why, is_formula), names in rest.items():
            subject = counted(len(names), "formula") if is_formula else counted(len(names), "entry", "entries")
            more = f" and {len(names) - _MAX_LISTED} more (--verbose lists them)" if len(names) > _MAX_LISTED else ""
            warn(f"not checked: {subject} {_WORDS[why]}: {'; '.join(names[:_MAX_LISTED])}{more}")


def _text(model: Model, span: Span) -> str:
    return model.source.text[span.start : span.end]


def _report_coverage(reached: Sequence[FormulaCoverage]) -> None:
    for formula in reached:
        for item in formula.missing:
            warn(f"not reached: {formula.operator}, {formula.key}: {item}")
    count, total = figure(reached)
    whole = sum(not formula.missing for formula in reached)
    formulas = counted(len(reached), "formula")
    warn(f"coverage: {count} of {total} ({count / max(total, 1):.1%}), {whole} of {formulas} as a whole")


def _summarize(outcome: RunOutcome, unchecked: Sequence[Unchecked]) -> None:
    checked = [state for state in outcome.checked.values() if state.why is None]
    compared = sum(state.compared for state in checked)
    kinds = Counter(item.why for item in unchecked if not item.key)
    listed = ", ".join(f"{count} {_WORDS[why]}" for why, count in kinds.items())
    warn(
        f"{counted(len(checked), 'entry', 'entries')} checked with {compared:,} comparisons"
        + (f", {kinds.total()} not checked ({listed})" if kinds else "")
    )


def _write_scripts(
    findings: Sequence[JudgedFinding], model: Model, base: Base | None, run: RunOptions, folder: Path
) -> None:
    """Write a script for each finding, which runs the file's formula unless it is the installed PyTorch's."""
    torch = installed_torch()
    source = None if torch is None or torch.derivatives is None else SourceFile.read(torch.derivatives)
    changed = {entry.operator for entry in (model.entries if source is None else changed_entries(model, source))}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for item in findings:
            failure, finding = item.failure, item.diagnostic
            if not failure or item.verdict is FindingVerdict.GONE:
                continue
            key = str(finding.key).replace(", ", "-")
            name = f"{failure['operator'].replace('.', '_')}-{key}-{finding.rule}.py"
            script = failure["script"]
            if failure["arguments"] and (item.verdict is FindingVerdict.NEW or finding.entry in changed):
                before = base.model if base is not None and item.verdict is FindingVerdict.NEW else None
                script = script_of(finding, failure, model, before, name, run)
            path = folder / name
            if script and path.exists() and not (path.is_file() and is_script(path)):
                raise InputError(f'"{path}" was not written by derivlint, and is not overwritten')
            if script:
                replace_file(path, script.encode())
    except OSError as error:
        raise InputError(f'cannot write scripts to "{folder}": {error.strerror or error}') from error
