"""The check of one derivatives file, shared by the command line and the language server."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint import Diagnostic, Rule
from derivlint.lint.diagnostic import Result
from derivlint.lint.engine.incremental import check_text
from derivlint.lint.engine.run import SUPPRESSIONS, in_order, judge_suppressions, merged
from derivlint.lint.suppressions.suppression import suppressions_of
from derivlint.lint.wording import quoted_list, unknown_name
from derivlint.model import Model, build_model, build_models
from derivlint.model.memos import Memos
from derivlint.project.errors import InputError
from derivlint.project.filtering.findings import FindingFilter, Findings, filter_findings, rule_names
from derivlint.project.settings import Settings
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

#: An additional check of a model, called with the findings of the rules.
Check = Callable[[Model, tuple[Diagnostic, ...]], Iterable[Diagnostic]]


class CheckedFile(Struct, frozen=True):
    """The result of a check of one file.

    Attributes:
        model: its model, for the newest of several versions.
        shown: the diagnostics that the settings show, sorted.
        hidden: the number of diagnostics below the minimum severity or confidence.
        fails: whether a shown diagnostic is at or above the fail level.
        crashes: the number of crashed checks; each is a diagnostic as well.
        unfiltered: all findings, including those that suppressions, the baseline and the settings hide.
        suppressed: the number of suppressed diagnostics.
        baselined: the number of diagnostics in the baseline.
        unchanged: the number of diagnostics in unchanged entries, if only changes are checked.
        findings: the findings before the settings are applied.
    """

    model: Model
    shown: tuple[Diagnostic, ...]
    hidden: int
    fails: bool
    crashes: int
    unfiltered: tuple[Diagnostic, ...]
    suppressed: int
    baselined: int
    unchanged: int
    findings: Findings


def check_source(
    source: SourceFile,
    natives: NativeFunctions,
    settings: Settings,
    rules: tuple[Rule, ...],
    *,
    extra_rules: tuple[Rule, ...] = (),
    extra: Check | None = None,
    finding_filter: FindingFilter | None = None,
    models: tuple[Model, ...] | None = None,
    memos: Memos | None = None,
    stop: Callable[[], bool] | None = None,
    explains: bool = False,
) -> CheckedFile:
    """Check a text against operators.

    Args:
        source: the text.
        natives: the operators.
        settings: the settings of the file.
        rules: the rules to run, see :meth:`Settings.selected`.
        extra_rules: rules that run although they are not selected; suppressions of them are not reported as unused.
        extra: an additional check, such as the C++ compiler.
        finding_filter: selects findings; by default those that are not suppressed.
        models: the models to check, if they exist; by default, those of all versions of the file are built.
        memos: the memos of earlier texts of the file, checked with the same operators, rules and settings, to which
            those of this text are added. By default nothing is recorded.
        stop: returns whether to cancel the check.
        explains: whether the help of wrong values names their cause, which takes up to a second.

    Raises:
        InputError: the file does not have the selected version, or the changes to check cannot be determined.
        Cancelled: the check was cancelled.
    """
    ordinary = tuple(rule for rule in (*rules, *extra_rules) if rule.target != SUPPRESSIONS)
    # a file for several versions has a model for each distinct set of entries
    models = models or build_models(source, natives, settings.layout, settings.version, memos=memos)
    try:
        _require_version(models[0], settings)
        texts = [check_text(model, ordinary, stop=stop) for model in models]
        results = [text.result for text in texts]
        if extra is not None:
            results += [Result(in_order(extra(text.model, text.result.diagnostics))) for text in texts]
        rule_results = merged(results)
        names = {rule.name for rule in rules}
        model = models[0]
        # a suppression may be used for one version only
        known_names = rule_names(names)
        finds_stale = finding_filter is not None and finding_filter.baseline is not None and finding_filter.finds_stale
        judged = judge_suppressions(
            model,
            rules,
            rule_results.diagnostics,
            names=known_names,
            crashed=rule_results.crashed,
            models=models,
            reports_unjudged=finds_stale,
        )
        every = merged([rule_results, judged])
        if explains:
            from derivlint.repair.causes import explained

            every = replace(every, diagnostics=tuple(explained(model, every.diagnostics)))
        findings = Findings(
            every.diagnostics,
            frozenset(suppressions_of(model).matches(every.diagnostics, known_names)),
            frozenset(names),
            every.internal_errors,
            model.n_entries,
            model.n_formulas,
            judged.unjudged,
        )
        outcome = filter_findings(findings, source, settings, finding_filter, model)
        return CheckedFile(
            model,
            outcome.shown,
            outcome.hidden,
            outcome.fails,
            outcome.crashes,
            outcome.unfiltered,
            outcome.suppressed,
            outcome.baselined,
            outcome.unchanged,
            findings,
        )
    finally:
        for model_of_version in models:
            model_of_version.end_revision()


def model_of(source: SourceFile, natives: NativeFunctions, settings: Settings) -> Model:
    """Return the model of a file, for the selected or the newest of several versions.

    Raises:
        InputError: the file does not have the selected version.
    """
    model = build_model(source, natives, settings.layout, settings.version)
    _require_version(model, settings)
    return model


def _require_version(model: Model, settings: Settings) -> None:
    versions, version = model.versions, settings.version
    if version is not None and versions is not None and versions.names and version not in versions.names:
        fact = f'"{model.source.path}" has no version "{version}"'
        listed = f"there are {quoted_list(versions.names)}"
        raise InputError(unknown_name(fact, version, versions.names, listed))
