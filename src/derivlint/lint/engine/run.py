"""Run rules over a model, entry by entry.

The findings in an entry depend on its text and on recorded dependencies. A crash becomes a finding at its entry, and
other checks continue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.diagnostic import CrashSite, Diagnostic, Finding, Fix, Result, Unjudged
from derivlint.lint.engine.crash import INTERNAL_ERROR, Crash, diagnostics_of, entry_of, place_of
from derivlint.lint.engine.precedence import SHADOWED, PremiseErrors, RawFinding, SupersededBy, resolve_precedence
from derivlint.lint.rule import Rule, Target
from derivlint.source import Span

if TYPE_CHECKING:
    from derivlint.cpp.problem import TypeProblemKind
    from derivlint.lint.suppressions.suppression import PlacedSuppression, RuleNames
    from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse
    from derivlint.model import Entry, Model
    from derivlint.model.memos import Dependency

__all__ = ["INTERNAL_ERROR", "SUPPRESSIONS", "Checker", "Result", "Unjudged", "judge_suppressions", "run_rules"]

#: The target of rules about suppressions, which run last.
SUPPRESSIONS = "suppressions"
#: The maximum number of crashes of a rule on single suppressions, after which it is abandoned.
MAX_CRASHES = 100
#: The number of entries that each rule checks in a row; switching rules at each entry would thrash instruction caches.
RULE_BATCH = 50

#: A rule with its check and the check's further arguments.
_Bound = tuple[Rule, Callable[..., Iterable[Finding]], tuple[object, ...]]
#: The rules by kind of node or problem; None for all kinds.
_ByKind = Mapping["TypeProblemKind | type | None", Sequence[_Bound]]
#: A collector of findings, and the leading arguments of a check, its subject last.
_Target = tuple["_Collector", tuple[object, ...]]


def by_kind(rules: Iterable[_Bound]) -> _ByKind:
    """Group rules by the kinds of nodes or type problems that they check."""
    bound_by_kind: dict[TypeProblemKind | type | None, list[_Bound]] = {}
    for bound in rules:
        for kind in bound[0].kinds or (None,):
            bound_by_kind.setdefault(kind, []).append(bound)
    return bound_by_kind


class EntryFindings(Struct, frozen=True):
    """The findings in an entry or of file-wide rules, before precedence.

    Attributes:
        findings: the findings.
        dependencies: the dependencies of the checks.
        crashes: a diagnostic for each entry and cause of crashes.
        crashed: the checks that crashed.
    """

    findings: tuple[RawFinding, ...] = ()
    dependencies: frozenset[Dependency] = frozenset()
    crashes: tuple[Diagnostic, ...] = ()
    crashed: frozenset[CrashSite] = frozenset()


class Checker:
    """Runs rules on a file and its entries."""

    def __init__(self, model: Model, rules: Iterable[Rule], *, chooses_fixes: bool = True) -> None:
        """Group rules by their subject.

        Args:
            model: the model of the file.
            rules: the rules.
            chooses_fixes: whether to choose among fixes by trying them; else a finding has its rule's fix.
        """
        self._rules = tuple(rules)
        self._chooses_fixes = chooses_fixes
        self._model = model
        by_target: dict[Target, list[_Bound]] = {}
        for rule in self._rules:
            by_target.setdefault(rule.target, []).append((rule, *rule.bound(model)))
        self._of_file = by_target.get("model", [])
        self._of_entries = by_target.get("entry", [])
        self._of_items = [bound for bound in self._of_entries if bound[0].meta.group == "yaml"]
        self._of_bodies = by_target.get("body", [])
        self._of_formulas = by_target.get("formula", [])
        self._of_nodes = by_kind(by_target.get("node", []))
        self._of_problems = by_kind(by_target.get("problem", []))
        self._about_problems = sorted(rule.name for rule, *_ in by_target.get("problem", []))

    def file(self) -> EntryFindings:
        """The findings of file-wide rules."""
        run = _Collector(self._model)
        self._run(self._of_file, [(run, (self._model,))])
        return run.result()

    def entry(self, entry: Entry) -> EntryFindings:
        """The findings in one entry."""
        return self._batch([entry])[0]

    def entries(self, entries: Sequence[Entry]) -> Iterator[EntryFindings]:
        """The findings in each of many entries."""
        from derivlint.analysis.analyses import prepare, work_out

        prepare(self._model, entries)
        for start in range(0, len(entries), RULE_BATCH):
            batch = entries[start : start + RULE_BATCH]
            work_out(self._model, batch)
            yield from self._batch(batch)

    def _batch(self, entries: Sequence[Entry]) -> list[EntryFindings]:
        """Run the rules one after the other, each on all entries."""
        every = [(_Collector(self._model), entry) for entry in entries]
        runs = [(run, entry) for run, entry in every if entry.has_keys]
        self._run(self._of_entries, [(run, (entry,)) for run, entry in runs])
        if len(runs) < len(every):
            self._run(self._of_items, [(run, (entry,)) for run, entry in every if not entry.has_keys])
        bodies = [(run, body) for run, entry in runs for body in entry.bodies]
        self._run(self._of_bodies, [(run, (body,)) for run, body in bodies])
        formulas = [(run, formula) for run, body in bodies for formula in body.formulas]
        self._run(self._of_formulas, [(run, (formula,)) for run, formula in formulas])
        if self._of_nodes:
            of_kind: dict[type, list[_Target]] = {}
            for run, formula in formulas:
                for node in formula.parsed.nodes if formula.is_expression else ():
                    if type(node) in self._of_nodes:
                        of_kind.setdefault(type(node), []).append((run, (node, formula)))
            for kind, targets in of_kind.items():
                self._run(self._of_nodes[kind], targets)
        if self._of_problems:
            for run, entry in runs:
                self._run_on_problems(run, entry)
        return [run.result(chooses_fixes=self._chooses_fixes) for run, _ in every]

    def _run(self, rules: Iterable[_Bound], targets: Sequence[_Target]) -> None:
        model = self._model
        for rule, check, more in rules:
            for run, target in targets:
                try:
                    # a fast path: most checks take no further arguments
                    for finding in check(*target, *more) if more else check(*target):
                        run.add(rule, target[-1], finding)
                except Exception as error:
                    run.crash(rule, target[-1], error)
                if model.active is not None:
                    run.use(model.dependencies())

    def _run_on_problems(self, run: _Collector, entry: Entry) -> None:
        """Run the rules about type problems; most entries have none."""
        rules = self._of_problems
        try:
            problems = self._model.type_problems(entry)
        except Exception as error:
            run.crashes += [Crash(name, entry, entry, error, place_of(entry)) for name in self._about_problems]
            return
        finally:
            run.use(self._model.dependencies())
        for problem in problems:
            self._run(rules.get(None, ()), [(run, (problem,))])
            if problem.is_written:
                self._run(rules.get(problem.problem.kind, ()), [(run, (problem,))])

    def everything(self) -> Iterator[EntryFindings]:
        """The findings in the file and in each entry."""
        yield self.file()
        yield from map(self.entry, self.judged_entries)

    @property
    def judged_entries(self) -> Sequence[Entry]:
        """The entries of the model; none if they belong to another PyTorch than the operators."""
        return () if self._model.is_of_unsupported_release else self._model.entries

    @cached_property
    def _yields_to(self) -> dict[str, tuple[SupersededBy, ...]]:
        return {
            rule.name: rule.meta.yields_to if rule.name in SHADOWED.rules else (*rule.meta.yields_to, SHADOWED)
            for rule in self._rules
        }

    def result(self, parts: Iterable[EntryFindings]) -> Result:
        """Apply precedence to the findings in all entries and in the file."""
        from derivlint.model.index import UNRESOLVED

        parts = tuple(parts)
        findings = [finding for part in parts for finding in part.findings]
        unresolved = filter(None, self._model.values_in(UNRESOLVED, ""))
        premises = PremiseErrors(findings, self._yields_to, unresolved)
        surviving = resolve_precedence(findings, self._yields_to, premises)
        crashes = {item for part in parts for item in part.crashes}
        crashed = frozenset[CrashSite]().union(*(part.crashed for part in parts))
        return Result(in_order((*surviving, *crashes)), len(crashes), crashed)


def run_rules(model: Model, rules: Iterable[Rule], *, names: RuleNames | None = None) -> Result:
    """Run rules on all parts of a model, those about suppressions last.

    Args:
        model: the file.
        rules: the rules; the result includes suppressed findings.
        names: the names of all existing rules, by default of those that run.
    """
    rules = tuple(rules)
    checker = Checker(model, rules)
    result = checker.result(checker.everything())
    judged = judge_suppressions(model, rules, result.diagnostics, names=names, crashed=result.crashed)
    return merged([result, judged])


def merged(results: Iterable[Result]) -> Result:
    """Merge results."""
    results = tuple(results)
    some = [result.diagnostics for result in results if result.diagnostics]
    return Result(
        some[0] if len(some) == 1 else in_order(item for diagnostics in some for item in diagnostics),
        sum(result.internal_errors for result in results),
        frozenset().union(*(result.crashed for result in results)),
    )


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sort findings and drop duplicates."""
    ordered = sorted(diagnostics, key=Diagnostic.identity)
    return tuple([item for item, before in zip(ordered, (None, *ordered), strict=False) if item != before])


def judge_suppressions(
    model: Model,
    rules: Iterable[Rule],
    diagnostics: Iterable[Diagnostic],
    *,
    names: RuleNames | None = None,
    crashed: frozenset[CrashSite] = frozenset(),
    models: Sequence[Model] = (),
    reports_unjudged: bool = False,
) -> Result:
    """Run the rules about suppressions, after all others.

    Args:
        model: the file.
        rules: all rules of the run.
        diagnostics: their findings in all models of the file.
        names: the names of all existing rules, by default of those that run.
        crashed: the checks that crashed.
        models: all checked models of the file, by default this one.
        reports_unjudged: whether the result lists the rules that did not judge entries.
    """
    rules = tuple(rules)
    judging = [rule for rule in rules if rule.target == SUPPRESSIONS]
    run = _Collector(model)
    unjudged: Unjudged | None = None
    # imported late: cached results need no models
    from derivlint.lint.suppressions.suppression import RuleNames, suppressions_of
    from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse

    if (judging and suppressions_of(model).placed) or reports_unjudged:
        from derivlint.lint.engine.rule_coverage import RuleCoverage

        diagnostics = tuple(diagnostics)
        coverage = RuleCoverage(models or (model,), rules, crashed, diagnostics)
        unjudged = coverage.unjudged() if reports_unjudged else None
        names = names if names is not None else RuleNames(frozenset(rule.name for rule in rules))
        in_use = SuppressionsInUse(model, diagnostics, names, coverage)
        for rule in judging:
            run.judge_suppressions(rule, in_use)
    part = run.result()
    ordered = in_order((*(finding.diagnostic for finding in part.findings), *part.crashes))
    return Result(ordered, len(part.crashes), crashed | part.crashed, unjudged)


class _Collector:
    """Collects findings, dependencies and crashes of rules."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._findings: dict[Diagnostic, RawFinding] = {}
        self._dependencies: set[frozenset[Dependency]] = set()
        self.crashes: list[Crash] = []
        #: The findings with fixes, with rule and alternative fixes, by edited entry.
        self._fixable: dict[Entry, dict[Diagnostic, tuple[Rule, tuple[Fix, ...]]]] = {}
        # discard earlier reads
        model.dependencies()

    def result(self, *, chooses_fixes: bool = True) -> EntryFindings:
        """The findings with dependencies and crashes."""
        if chooses_fixes:
            self._choose_fixes()
        findings = tuple(self._findings.values())
        dependencies: frozenset[Dependency] = frozenset().union(*self._dependencies)
        if not self.crashes:
            return EntryFindings(findings, dependencies)
        crashes = tuple(diagnostics_of(self.crashes, self._model.source.path))
        return EntryFindings(findings, dependencies, crashes, frozenset(crash.crashed for crash in self.crashes))

    def use(self, dependencies: frozenset[Dependency]) -> None:
        """Add dependencies of a check."""
        self._dependencies.add(dependencies)

    def add(self, rule: Rule, target: object, finding: Finding) -> None:
        """Add a finding in the file, an entry, a body or a formula."""
        diagnostic = _diagnostic(self._model, rule, target, finding)
        self._findings[diagnostic] = RawFinding(diagnostic, finding.about, finding.rests_on)
        entry = entry_of(finding.at or target) if finding.fixes else None
        if entry is not None:
            self._fixable.setdefault(entry, {})[diagnostic] = rule, finding.fixes

    def _choose_fixes(self) -> None:
        """Choose the sound one among the fixes of each finding, or none."""
        for entry, fixable in self._fixable.items():
            # imported late: cached results need no fixes
            from derivlint.lint.fix_check import FixCheck

            try:
                chosen = FixCheck(self._model, entry).chosen([fixes for _, fixes in fixable.values()])
            except Exception as error:
                chosen = [None] * len(fixable)
                for rule in dict.fromkeys(rule for rule, _ in fixable.values()):
                    self.crash(rule, entry, error)
            for diagnostic, fix in zip(fixable, chosen, strict=True):
                if fix != diagnostic.fix:
                    raw = self._findings[diagnostic]
                    self._findings[diagnostic] = replace(raw, diagnostic=replace(diagnostic, fix=fix))
            self.use(self._model.dependencies())

    def crash(self, rule: Rule, target: object, error: Exception) -> None:
        """Add a crash on the file, an entry, a body or a formula."""
        self.crashes.append(Crash(rule.name, target, entry_of(target), error, place_of(target)))

    def judge_suppressions(self, rule: Rule, in_use: SuppressionsInUse) -> None:
        """Run a rule on all suppressions; after a crash, on each of them alone."""
        check, more = rule.bound(self._model)

        def crash_of(*placed: PlacedSuppression) -> Exception | None:
            in_use.placed = placed
            try:
                for finding in check(in_use, *more):
                    self.add(rule, in_use, finding)
            except Exception as error:
                return error
            return None

        every = in_use.placed
        error = crash_of(*every)
        if error is not None:
            crashes = [(item, crash_of(item)) for item in every]
            if crash_of(*(item for item, crash in crashes if crash is None)) is not None:
                # the crash needs several suppressions
                self.crashes.append(Crash(rule.name, None, None, error, Span(0, 0)))
            else:
                culprits = [(item, crash) for item, crash in crashes if crash is not None]
                for item, crash in culprits[:MAX_CRASHES]:
                    self.crashes.append(Crash(rule.name, item.entry, item.entry, crash, item.suppression.span))
        in_use.placed = every


def _diagnostic(model: Model, rule: Rule, target: object, finding: Finding) -> Diagnostic:
    # imported late: cached results need neither rules nor models
    from derivlint.lint.engine.ownership import names_of

    entry, dispatch, key = names_of(finding.at if finding.at is not None else target)
    return Diagnostic(
        path=(finding.source or model.source).path,
        span=finding.where,
        rule=rule.name,
        message=finding.message,
        severity=finding.severity or rule.meta.severity,
        confidence=finding.confidence or rule.meta.confidence,
        help=finding.help,
        entry=entry,
        dispatch=dispatch,
        key=key,
        related=finding.related,
        fix=next(iter(finding.fixes), None),
        elsewhere=finding.source is not None,
    )
