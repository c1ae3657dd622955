"""What ``derivlint verify`` reports."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from derivlint.cli.exits import CLEAN, FINDINGS, tell
from derivlint.cli.output import Output
from derivlint.formats import Report
from derivlint.lint import Diagnostic
from derivlint.lint.suppression import suppressions_of
from derivlint.lint.wording import counted
from derivlint.model import Model
from derivlint.project.baselines import BaselineFile
from derivlint.project.errors import InputError
from derivlint.project.findings import Findings, judge
from derivlint.project.narrowing import Narrowing, rule_names
from derivlint.project.settings import Settings
from derivlint.rules import NUMERIC
from derivlint.source.records import dataclass
from derivlint.verify.deviations import Deviation, read_deviations, shipped_deviations, sort_out
from derivlint.verify.findings import places_and_diagnostics
from derivlint.verify.outcome import Outcome


def expected_findings(model: Model, path: Path | None) -> tuple[Deviation, ...]:
    """The findings that are expected: those of a file, else those of the release of PyTorch that the model is of.

    Raises:
        InputError: the file cannot be read or understood.
    """
    chosen = path or shipped_deviations(model.natives.version)
    return read_deviations(chosen) if chosen is not None else ()


@dataclass(frozen=True, slots=True)
class Reporting:
    """How findings are reported.

    Attributes:
        model: the file.
        settings: what is shown and what counts.
        operators: the operators whose entries were asked for, None for all.
        expected: findings that are expected.
        tells_unused: whether expected findings that are not there are worth telling.
        scripts: where scripts are written, None for nowhere.
        baseline: the file of known findings, None where there is none.
        updates_baseline: whether what is found becomes known.
        exit_zero: whether findings do not matter for the exit status.
    """

    model: Model
    settings: Settings
    operators: Collection[str] | None
    expected: tuple[Deviation, ...]
    tells_unused: bool
    scripts: Path | None
    baseline: BaselineFile | None
    updates_baseline: bool
    exit_zero: bool

    def report(self, outcome: Outcome, output: Output) -> int:
        """Show what was found; the exit status.

        Raises:
            InputError: a file cannot be written.
        """
        model, settings, baseline = self.model, self.settings, self.baseline
        sorted_out = sort_out(places_and_diagnostics(model, outcome), self.expected)
        every: tuple[Diagnostic, ...] = tuple(sorted(sorted_out.unexpected))
        names = rule_names(NUMERIC)
        formulas = len(outcome.functions)
        entries = len({each.described.operator for each in outcome.functions})
        silenced = frozenset(suppressions_of(model).matches(every, names))
        findings = Findings(every, silenced, frozenset(NUMERIC), 0, entries, formulas)
        narrowing = Narrowing(baseline=baseline, updates_baseline=self.updates_baseline)
        judged = judge(findings, model.source, settings, narrowing)
        if self.scripts is not None:
            _write_scripts(outcome, self.scripts)
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
            )
        )
        if not output.quiet:
            _summarize(outcome, len(sorted_out.expected))
        if self.tells_unused:
            for each in sorted_out.unused:
                tell(f"an expected finding is not there: {each.rule} of {each.operator}, {each.key}")
        self._tell_unchecked(outcome, output)
        if baseline is not None and self.updates_baseline:
            tell(f'the baseline "{baseline.path}" has {counted(baseline.update(), "finding")}')
            return CLEAN
        return output.status(FINDINGS if judged.fails and not self.exit_zero else CLEAN)

    def _tell_unchecked(self, outcome: Outcome, output: Output) -> None:
        """Say of every formula that was not checked why it was not; of those that were asked for by name, always."""
        lines = []
        for name, state in outcome.checked.items():
            if not state.points:
                lines.append((name, f"{name} is not checked: {state.reason}"))
        for line, reason in outcome.collected.left_out:
            lines.append(
                (line.entry.operator or "", f"{line.entry.operator}, {line.key_text} is not checked: {reason}")
            )
        for each in outcome.collected.functions:
            reason = outcome.left_out.get(each.described.number, "")
            if reason:
                of = each.described
                lines.append((of.operator, f"{of.operator}, {of.key} is not checked: {reason}"))
        told = {name for name, _ in lines} | set(outcome.checked)
        without = sorted(set(self.operators or ()) - told)
        said = "has no formula that can be checked; derivlint check tells what it lacks"
        lines += [(name, f"{name} {said}") for name in without]
        for _, text in lines:
            (output.say if self.operators is None else tell)(text)


def _summarize(outcome: Outcome, expected: int) -> None:
    checked = [state for state in outcome.checked.values() if state.points]
    compared = sum(state.compared for state in checked)
    left = len(outcome.checked) - len(checked)
    tell(
        f"{counted(len(checked), 'entry', 'entries')} checked with {compared:,} comparisons"
        + (f", {left} without inputs (--verbose tells why)" if left else "")
        + (f", {counted(expected, 'expected finding')} left out" if expected else "")
    )


def _write_scripts(outcome: Outcome, folder: Path) -> None:
    functions = {each.described.number: each.described for each in outcome.functions}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for failure in outcome.failures:
            if failure["script"]:
                described = functions[failure["failure"]]
                key = described.key.replace(", ", "-")
                name = f"{described.operator.replace('.', '_')}-{key}-{failure['rule']}.py"
                (folder / name).write_text(failure["script"], encoding="utf-8")
    except OSError as error:
        raise InputError(f'cannot write scripts to "{folder}": {error.strerror or error}') from error
