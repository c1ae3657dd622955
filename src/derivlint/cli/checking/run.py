"""A run over derivatives files: checks, report, exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from derivlint.cli.shared.terminal import (
    CLEAN,
    FINDINGS,
    INTERNAL,
    REPORT_HINT,
    USAGE,
    debugging,
    internal_error,
    show_progress,
    warn,
)
from derivlint.formats import Report
from derivlint.lint import INTERNAL_ERROR, Confidence, Diagnostic, Severity
from derivlint.lint.wording import counted, did_you_mean
from derivlint.project.caching.cache import cache_folder
from derivlint.project.caching.result_cache import cache_entry_of, store_findings, stored_findings
from derivlint.project.errors import InputError, user_errors
from derivlint.project.files import read_source
from derivlint.project.filtering.findings import FilteredFindings, filter_findings
from derivlint.project.operators import LoadedOperators, load_operators, operators_for, problem_text, resolve_release
from derivlint.project.settings import Settings
from derivlint.project.untrusted import is_inside, repository_of
from derivlint.source import SourceError, SourceFile, Span

if TYPE_CHECKING:
    from derivlint.cli.checking.fixing import FixRunner
    from derivlint.cli.checking.suppressing import SuppressionRunner
    from derivlint.compiler.gxx import Toolchain
    from derivlint.model import Model
    from derivlint.model.memos import Memos
    from derivlint.project.check import Check, CheckedFile
    from derivlint.project.filtering.findings import FindingFilter
    from derivlint.project.operators import Operators

#: The maximum number of listed problems of native_functions.yaml.
MAX_PROBLEMS = 20
#: Characters that make an operator pattern more than a name.
WILDCARDS = "*?["


class Run:
    """Checks files, and collects the results."""

    def __init__(
        self,
        stdin_filename: str | None,
        *,
        use_cache: bool = True,
        compiler: str | None = None,
        fixing: FixRunner | None = None,
        suppressing: SuppressionRunner | None = None,
        log: Callable[[str], None] | None = None,
    ) -> None:
        self._stdin_filename = stdin_filename
        self._toolchain = require_toolchain(compiler) if compiler is not None else None
        self._use_cache = use_cache
        self._fixing = fixing
        self._suppressing = suppressing
        self._left_out: Counter[str] = Counter()
        self._is_verbose = log is not None
        self._log = log or (lambda _: None)
        self._fail_levels: dict[str, Severity] = {}
        self._loaded: dict[Operators, LoadedOperators] = {}
        self._shown: list[Diagnostic] = []
        self._hidden = 0
        self._unknown_functions: frozenset[str] = frozenset()
        self._sources: dict[str, SourceFile] = {}
        self._related_sources: dict[str, SourceFile] = {}
        self._entries = self._formulas = 0
        self._failing = self._crashed = self._unreadable = False
        self._reported: dict[str, None] = {}
        self._asked_about: set[str] = set()

    def check(self, path: str, folder: Path, settings: Settings) -> None:
        """Check a file; report an unreadable one at once, and continue.

        Args:
            path: the file, or ``-``.
            folder: its folder.
            settings: its settings.
        """
        begin = perf_counter()
        try:
            source = read_source(path, self._stdin_filename)
            operators = operators_for(folder, settings)
        except InputError as error:
            self._unreadable = True
            self._warn_once(str(error))
            return
        self._fail_levels[source.path] = settings.fail_level
        self._log(f"{source.path}: configuration {settings.origin or 'none'}")
        if settings.untrusted and self._use_cache and cache_is_foreign(folder):
            # a cache inside an untrusted repository could hold planted findings
            self._use_cache = False
            self._log("the cache is inside the repository and is not used")
        operators = resolve_release(operators, source, self._load, self._use_cache)
        self._log(f"{source.path}: operators: {operators.describe()}")
        try:
            suppressing = self._suppressing
            finding_filter = suppressing.finding_filter(settings, operators) if suppressing is not None else None
            outcome = self._outcome(path, source, operators, settings, finding_filter)
        except (SourceError, InputError) as error:
            # it was not checked, so it has no results
            self._sources.pop(source.path, None)
            self._unreadable = True
            self._warn_once(str(error))
            return
        except Exception as error:
            if debugging():
                raise
            self._crashed = True
            self._sources[source.path] = source
            self._shown.append(_crash(source, error))
            return
        self._warn_of_unknown_operators(settings, operators)
        findings = outcome.findings
        self._log(f"{source.path}: checked by {len(findings.ran)} rules in {perf_counter() - begin:.2f} s")
        # the result cache does not store the coverage of the checks
        if self._is_verbose and not isinstance(outcome, FilteredFindings):
            from derivlint.analysis.judged import judged_entries
            from derivlint.formats.coverage import judged_line

            self._log(f"{source.path}: {judged_line(list(judged_entries(outcome.model)))}")
        self._entries += findings.entries
        self._formulas += findings.formulas
        self._crashed |= findings.crashes > 0
        self._hidden += outcome.hidden
        self._unknown_functions |= findings.unknown_functions
        self._left_out.update(suppressed=outcome.suppressed, baselined=outcome.baselined, unchanged=outcome.unchanged)
        self._failing |= outcome.fails
        self._shown += outcome.shown
        for item in outcome.shown:
            self._fail_levels.setdefault(item.path, settings.fail_level)
        if settings.untrusted:
            silenced = {(item.rule, item.span) for item in outcome.findings.silenced}
            number = sum((item.rule, item.span) in silenced for item in outcome.shown)
            if number:
                warn(f"{source.path}: --untrusted reports {counted(number, 'finding')} that comments suppress")

    def _warn_of_unknown_operators(self, settings: Settings, operators: Operators) -> None:
        """Report names in the configuration that no operator has."""
        for name in settings.per_operator_ignores:
            if name in self._asked_about or any(char in name for char in WILDCARDS):
                continue
            self._asked_about.add(name)
            natives = self._load(operators).natives
            if natives.operator(name) is not None:
                continue
            # names are compared with those of entries, including overloads
            overloads = bool(natives.with_base(name))
            question = f'did you mean "{name}.*"?' if overloads else did_you_mean(name, natives.operator_names())
            message = f'"per-operator-ignores" names "{name}", which is not an operator'
            warn(f"{message}; {question}" if question else message)

    def _load(self, operators: Operators) -> LoadedOperators:
        loaded = self._loaded.get(operators)
        if loaded is None:
            loaded = self._loaded[operators] = load_operators(operators, self._use_cache)
        return loaded

    def _outcome(
        self,
        path: str,
        source: SourceFile,
        operators: Operators,
        settings: Settings,
        finding_filter: FindingFilter | None,
    ) -> FilteredFindings | CheckedFile:
        """Check a file, or return its cached result.

        Raises:
            InputError: the file cannot be checked.
        """
        place = cache_entry_of(source, operators, settings) if self._use_cache else None
        may_reuse = place is not None and self._may_reuse(finding_filter)
        findings = stored_findings(place, source.path) if place is not None and may_reuse else None
        if (
            findings is not None
            and findings.unjudged is None
            and finding_filter is not None
            and finding_filter.baseline
        ):
            # a run without baseline has cached the result
            findings = None
        if place is not None and findings is not None:
            self._sources[source.path] = source
            self._related_sources.update({file.path: file for file in place.sources})
            self._log(f"{source.path}: read from the cache")
            return filter_findings(findings, source, settings, finding_filter)
        loaded = self._load(operators)
        self._sources[source.path] = source
        self._warn_of_problems(loaded)
        memos = None
        if place is not None:
            from derivlint.project.caching.memos_on_disk import load_memos, store_memos

            memos = load_memos(place.memos, source.path)
        checked = self._checked(path, source, loaded, settings, finding_filter, memos)
        # results of files that changed during the run are not cached
        if place is not None and not loaded.natives.problems and cache_entry_of(source, operators, settings) == place:
            # findings are read last: a cache hit skips all writing, including the cleanup after a killed run
            if memos is not None and memos.newest:
                store_memos(place.memos, memos)
            if may_reuse:
                store_findings(place, checked.findings)
        return checked

    def _may_reuse(self, finding_filter: FindingFilter | None) -> bool:
        """Whether cached findings suffice; options that change or compare files need a model."""
        if self._toolchain is not None or self._fixing is not None:
            return False
        adds = self._suppressing is not None and self._suppressing.adds_ignores
        return not adds and (finding_filter is None or finding_filter.changes is None)

    def _checked(
        self,
        path: str,
        source: SourceFile,
        loaded: LoadedOperators,
        settings: Settings,
        finding_filter: FindingFilter | None,
        memos: Memos | None,
    ) -> CheckedFile:
        from derivlint.project.check import check_source
        from derivlint.rules import load_rules

        rules = settings.selected(load_rules())
        if self._fixing is not None:
            source = self._fixing.fix(path, source, loaded.natives, settings, rules, finding_filter)
            self._sources[source.path] = source
        check = partial(
            check_source,
            natives=loaded.natives,
            settings=settings,
            rules=rules,
            extra=self._compiled_with(settings),
            finding_filter=finding_filter,
            memos=memos,
            explains=True,
        )
        checked = check(source)
        if self._suppressing is not None:
            checked = self._suppressing.add_ignores(path, checked, check)
            self._sources[source.path] = checked.model.source
        judge_calls = next((rule for rule in rules if rule.name == "undefined-function"), None)
        if judge_calls is None:
            return checked
        unknown = checked.model.unknown_functions
        unknown = frozenset(name for name in unknown if not judge_calls.options.lists("functions", name))
        return replace(checked, findings=replace(checked.findings, unknown_functions=unknown))

    def _compiled_with(self, settings: Settings) -> Check | None:
        """Return the check that compiles formulas, if a compiler is requested."""
        toolchain = self._toolchain
        if toolchain is None:
            return None

        def compiled(model: Model, diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
            from derivlint.compiler.diagnostics import compiler_diagnostics
            from derivlint.compiler.gxx import CompilerError

            reported = {
                (item.entry, item.dispatch, item.key) for item in diagnostics if item.severity is Severity.ERROR
            }
            try:
                with user_errors(CompilerError):
                    return compiler_diagnostics(
                        model, toolchain, reported, includes=settings.headers, progress=show_progress
                    )
            finally:
                show_progress("")

        return compiled

    def _warn_of_problems(self, loaded: LoadedOperators) -> None:
        """Report problems of native_functions.yaml; its unreadable operators count as unknown."""
        self._related_sources.update({source.path: source for source in loaded.sources})
        problems = loaded.natives.problems
        for problem in problems[:MAX_PROBLEMS]:
            self._unreadable = True
            self._warn_once(problem_text(problem))
        if len(problems) > MAX_PROBLEMS:
            self._warn_once(f"{len(problems) - MAX_PROBLEMS:,} more problems in files of native functions")

    def _warn_once(self, message: str) -> None:
        if message not in self._reported:
            self._reported[message] = None
            warn(message)

    def report(self) -> Report:
        """Return the report on all files, with the exit status that findings give."""
        return Report(
            # several files may share a header
            diagnostics=tuple(sorted(set(self._shown))),
            sources=self._sources,
            entries=self._entries,
            formulas=self._formulas,
            hidden=self._hidden,
            unknown_functions=tuple(sorted(self._unknown_functions)),
            suppressed=self._left_out["suppressed"],
            baselined=self._left_out["baselined"],
            unchanged=self._left_out["unchanged"],
            related_sources=self._related_sources,
            problems=tuple(self._reported),
            fail_levels=self._fail_levels,
            exit_status=self.status(False),
        )

    def status(self, exit_zero: bool) -> int:
        """Return the exit status."""
        if self._crashed:
            return INTERNAL
        if self._unreadable:
            return USAGE
        return FINDINGS if self._failing and not exit_zero else CLEAN


def require_toolchain(name: str) -> Toolchain:
    """Return the compiler of a name, with the headers of the installed torch.

    Raises:
        InputError: the compiler or the headers are missing.
    """
    from derivlint.compiler.gxx import CompilerError, find_toolchain

    with user_errors(CompilerError):
        return find_toolchain(name)


def cache_is_foreign(folder: Path) -> bool:
    """Whether the cache is inside the repository of a folder, or of the working folder."""
    cache = cache_folder()
    return cache is not None and any(is_inside(cache, repository_of(place)) for place in (folder, Path.cwd()))


def _crash(source: SourceFile, error: Exception) -> Diagnostic:
    return Diagnostic(
        path=source.path,
        span=Span(0, 0),
        rule=INTERNAL_ERROR,
        message=internal_error(error),
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        help=REPORT_HINT,
    )
