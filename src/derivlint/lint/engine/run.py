"""Runs rules over a model, entry by entry.

An entry is checked on its own: what is found in it depends on its text and on what is looked up in the file as a whole
meanwhile. A check that crashes is a finding at the entry on which it crashed, and everything else is still found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.diagnostic import Diagnostic, Finding
from derivlint.lint.engine.crash import INTERNAL_ERROR, Crash, Crashed, diagnostics_of, entry_of, place_of
from derivlint.lint.engine.precedence import SHADOWED, Claim, Premises, Yields, unexplained
from derivlint.lint.engine.result import Result, Unjudged
from derivlint.lint.rule import Rule, Target
from derivlint.source import Span

if TYPE_CHECKING:
    from derivlint.cpp.problem import TypeProblemKind
    from derivlint.lint.suppressions.suppression import PlacedSuppression, RuleNames
    from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse
    from derivlint.model import Entry, Model
    from derivlint.model.memos import Dependency

__all__ = ["INTERNAL_ERROR", "SUPPRESSIONS", "Checker", "Result", "Unjudged", "judge_suppressions", "run_rules"]

#: The target of rules that judge what comments silence, and so need to know what the other rules found.
SUPPRESSIONS = "suppressions"
#: After so many crashes on single suppressions a rule about them is given up.
MAX_CRASHES = 100
#: A rule judges so many entries in turn: the code of all rules does not fit into the caches of a processor.
TOGETHER = 50


#: A rule with its check, and what the check takes next to its target.
_Bound = tuple[Rule, Callable[..., Iterable[Finding]], tuple[object, ...]]
#: The rules that judge nodes or problems of each kind; under None those that judge all.
_ByKind = Mapping["TypeProblemKind | type | None", Sequence[_Bound]]
#: What a check takes as its arguments, the last one being what a finding is in, with where it is added.
_Target = tuple["_Run", tuple[object, ...]]


def by_kind(rules: Iterable[_Bound]) -> _ByKind:
    """Rules by the kinds of nodes, or of what C++ refuses, that they are asked about."""
    found: dict[TypeProblemKind | type | None, list[_Bound]] = {}
    for bound in rules:
        for kind in bound[0].kinds or (None,):
            found.setdefault(kind, []).append(bound)
    return found


class Raw(Struct, frozen=True):
    """What rules say of an entry, or of the file as a whole, before findings yield to others.

    Attributes:
        claims: what they say.
        dependencies: what they read in the file as a whole.
        crashes: the diagnostics that say that checks crashed.
        crashed: the checks that did.
    """

    claims: tuple[Claim, ...] = ()
    dependencies: frozenset[Dependency] = frozenset()
    crashes: tuple[Diagnostic, ...] = ()
    crashed: frozenset[Crashed] = frozenset()


class Checker:
    """Asks rules about a file and its entries."""

    def __init__(self, model: Model, rules: Iterable[Rule]) -> None:
        """Ask rules about a model.

        Args:
            model: the file.
            rules: the rules of the run.
        """
        self._rules = tuple(rules)
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

    def file(self) -> Raw:
        """What rules find that look at the file as a whole."""
        run = _Run(self._model)
        self._ask(self._of_file, [(run, (self._model,))])
        return run.result()

    def entry(self, entry: Entry) -> Raw:
        """What rules find in one entry."""
        return self._together([entry])[0]

    def entries(self, entries: Sequence[Entry]) -> Iterator[Raw]:
        """What rules find in each of many entries."""
        from derivlint.analysis.analyses import prepare, work_out

        prepare(self._model, entries)
        for start in range(0, len(entries), TOGETHER):
            part = entries[start : start + TOGETHER]
            work_out(self._model, part)
            yield from self._together(part)

    def _together(self, entries: Sequence[Entry]) -> list[Raw]:
        """What rules find in entries: each rule looks at all of them, then the next one does."""
        every = [(_Run(self._model), entry) for entry in entries]
        runs = [(run, entry) for run, entry in every if entry.has_keys]
        self._ask(self._of_entries, [(run, (entry,)) for run, entry in runs])
        if len(runs) < len(every):
            self._ask(self._of_items, [(run, (entry,)) for run, entry in every if not entry.has_keys])
        bodies = [(run, body) for run, entry in runs for body in entry.bodies]
        self._ask(self._of_bodies, [(run, (body,)) for run, body in bodies])
        formulas = [(run, formula) for run, body in bodies for formula in body.formulas]
        self._ask(self._of_formulas, [(run, (formula,)) for run, formula in formulas])
        if self._of_nodes:
            of_kind: dict[type, list[_Target]] = {}
            for run, formula in formulas:
                for node in formula.parsed.nodes if formula.is_expression else ():
                    if type(node) in self._of_nodes:
                        of_kind.setdefault(type(node), []).append((run, (node, formula)))
            for kind, targets in of_kind.items():
                self._ask(self._of_nodes[kind], targets)
        if self._of_problems:
            for run, entry in runs:
                self._ask_of_problems(run, entry)
        return [run.result() for run, _ in every]

    def _ask(self, rules: Iterable[_Bound], targets: Sequence[_Target]) -> None:
        """Add what rules find in the file, in entries, bodies or formulas, or in parts of them."""
        model = self._model
        for rule, check, more in rules:
            for run, target in targets:
                try:
                    # most checks take nothing else, and this is called a hundred thousand times
                    for finding in check(*target, *more) if more else check(*target):
                        run.add(rule, target[-1], finding)
                except Exception as error:
                    run.crash(rule, target[-1], error)
                if model.active is not None:
                    run.use(model.dependencies())

    def _ask_of_problems(self, run: _Run, entry: Entry) -> None:
        """Add what rules find that judge what C++ refuses in an entry; most entries have nothing of that kind."""
        rules = self._of_problems
        try:
            problems = self._model.type_problems(entry)
        except Exception as error:
            run.crashes += [Crash(name, entry, entry, error, place_of(entry)) for name in self._about_problems]
            return
        finally:
            run.use(self._model.dependencies())
        for problem in problems:
            self._ask(rules.get(None, ()), [(run, (problem,))])
            if problem.is_written:
                self._ask(rules.get(problem.problem.kind, ()), [(run, (problem,))])

    def everything(self) -> Iterator[Raw]:
        """What rules find in the file and in each of its entries, one after the other."""
        yield self.file()
        yield from map(self.entry, self._model.entries)

    @cached_property
    def _yields_to(self) -> dict[str, tuple[Yields, ...]]:
        return {
            rule.name: rule.meta.yields_to if rule.name in SHADOWED.rules else (*rule.meta.yields_to, SHADOWED)
            for rule in self._rules
        }

    def settled(self, raws: Iterable[Raw]) -> Result:
        """What is left of what was said of all entries and of the file: one diagnostic for one slip."""
        from derivlint.model.index import UNRESOLVED

        raws = tuple(raws)
        claims = [claim for raw in raws for claim in raw.claims]
        unresolved = filter(None, self._model.values_in(UNRESOLVED, ""))
        left = unexplained(claims, self._yields_to, Premises(claims, self._yields_to, unresolved))
        crashes = {item for raw in raws for item in raw.crashes}
        crashed = frozenset[Crashed]().union(*(raw.crashed for raw in raws))
        return Result(in_order((*left, *crashes)), len(crashes), crashed)


def run_rules(model: Model, rules: Iterable[Rule], *, names: RuleNames | None = None) -> Result:
    """Ask every rule about every part of the model; a check that crashes is a finding, and the others go on.

    Args:
        model: the file.
        rules: the rules to run; what comments silence is found as well, and rules about suppressions judge it.
        names: the names of all rules that there are, by default of those that run.
    """
    rules = tuple(rules)
    checker = Checker(model, rules)
    result = checker.settled(checker.everything())
    judged = judge_suppressions(model, rules, result.diagnostics, names=names, crashed=result.crashed)
    return together([result, judged])


def together(results: Iterable[Result]) -> Result:
    """Several results as one."""
    results = tuple(results)
    some = [result.diagnostics for result in results if result.diagnostics]
    return Result(
        some[0] if len(some) == 1 else in_order(item for diagnostics in some for item in diagnostics),
        sum(result.internal_errors for result in results),
        frozenset().union(*(result.crashed for result in results)),
    )


def in_order(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings in their order, each once."""
    every = sorted(found, key=Diagnostic.identity)
    return tuple([item for item, before in zip(every, (None, *every), strict=False) if item != before])


def judge_suppressions(
    model: Model,
    rules: Iterable[Rule],
    found: Iterable[Diagnostic],
    *,
    names: RuleNames | None = None,
    crashed: frozenset[Crashed] = frozenset(),
    models: Sequence[Model] = (),
    says_unjudged: bool = False,
) -> Result:
    """Ask the rules about suppressions, when all other rules have run.

    Args:
        model: the file.
        rules: the rules of the run, also those that ran already.
        found: what those found, in all models of the file.
        names: the names of all rules that there are, by default of those that run.
        crashed: the checks that crashed.
        models: all models of the file that were checked, by default this one.
        says_unjudged: whether it is asked what was not judged.
    """
    rules = tuple(rules)
    judging = [rule for rule in rules if rule.target == SUPPRESSIONS]
    run = _Run(model)
    unjudged: Unjudged | None = None
    # what is read from the cache needs no models
    from derivlint.lint.suppressions.suppression import RuleNames, suppressions_of
    from derivlint.lint.suppressions.suppressions_in_use import SuppressionsInUse

    if (judging and suppressions_of(model).placed) or says_unjudged:
        from derivlint.lint.engine.judged import Judged

        found = tuple(found)
        judged = Judged(models or (model,), rules, crashed, found)
        unjudged = judged.unjudged() if says_unjudged else None
        known = names if names is not None else RuleNames(frozenset(rule.name for rule in rules))
        in_use = SuppressionsInUse(model, found, known, judged)
        for rule in judging:
            run.ask_of_suppressions(rule, in_use)
    raw = run.result()
    found = in_order((*(claim.diagnostic for claim in raw.claims), *raw.crashes))
    return Result(found, len(raw.crashes), crashed | raw.crashed, unjudged)


class _Run:
    """What rules find in a model, and how they crash."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._claims: dict[Diagnostic, Claim] = {}
        self._dependencies: set[frozenset[Dependency]] = set()
        self.crashes: list[Crash] = []
        #: The findings with fixes, by the entries that the fixes are in.
        self._fixable: dict[Entry, dict[Diagnostic, Rule]] = {}
        # what was read before belongs to no rule
        model.dependencies()

    def result(self) -> Raw:
        """What was found and read, with the crashes."""
        self._drop_unsound_fixes()
        claims = tuple(self._claims.values())
        dependencies: frozenset[Dependency] = frozenset().union(*self._dependencies)
        if not self.crashes:
            return Raw(claims, dependencies)
        crashes = tuple(diagnostics_of(self.crashes, self._model.source.path))
        return Raw(claims, dependencies, crashes, frozenset(crash.crashed for crash in self.crashes))

    def use(self, dependencies: frozenset[Dependency]) -> None:
        """A rule has read something."""
        self._dependencies.add(dependencies)

    def add(self, rule: Rule, target: object, finding: Finding) -> None:
        """A rule has found something in the file, an entry, a body or a formula."""
        diagnostic = _diagnostic(self._model, rule, target, finding)
        self._claims[diagnostic] = Claim(diagnostic, finding.about, finding.rests_on)
        entry = entry_of(finding.at or target) if finding.fix is not None else None
        if entry is not None:
            self._fixable.setdefault(entry, {})[diagnostic] = rule

    def _drop_unsound_fixes(self) -> None:
        """Replace findings by such without a fix where their fixes would make a formula wrong."""
        for entry, rules in self._fixable.items():
            # what is read from the cache has no fixes to try
            from derivlint.lint.fix_check import FixCheck

            fixes = {diagnostic: diagnostic.fix for diagnostic in rules if diagnostic.fix is not None}
            try:
                unsound = FixCheck(self._model, entry).unsound(fixes.values())
            except Exception as error:
                unsound = set(fixes.values())
                for rule in dict.fromkeys(rules.values()):
                    self.crash(rule, entry, error)
            if unsound:
                dropped = {diagnostic for diagnostic, fix in fixes.items() if fix in unsound}
                claims = [
                    replace(claim, diagnostic=replace(claim.diagnostic, fix=None)) if key in dropped else claim
                    for key, claim in self._claims.items()
                ]
                self._claims = {claim.diagnostic: claim for claim in claims}
            self.use(self._model.dependencies())

    def crash(self, rule: Rule, target: object, error: Exception) -> None:
        """A rule has crashed on the file, an entry, a body or a formula."""
        self.crashes.append(Crash(rule.name, target, entry_of(target), error, place_of(target)))

    def ask_of_suppressions(self, rule: Rule, in_use: SuppressionsInUse) -> None:
        """Add what a rule finds in the suppressions: after a crash, in those on which it does not crash alone."""
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
                # no single suppression is to blame
                self.crashes.append(Crash(rule.name, None, None, error, Span(0, 0)))
            else:
                culprits = [(item, crash) for item, crash in crashes if crash is not None]
                for item, crash in culprits[:MAX_CRASHES]:
                    self.crashes.append(Crash(rule.name, item.entry, item.entry, crash, item.suppression.span))
        in_use.placed = every


def _diagnostic(model: Model, rule: Rule, target: object, finding: Finding) -> Diagnostic:
    # what is read from the cache needs neither rules nor models
    from derivlint.lint.engine.ownership import names_of

    entry, dispatch, key = names_of(finding.at if finding.at is not None else target)
    return Diagnostic(
        path=(finding.source or model.source).path,
        span=finding.where,
        rule=rule.name,
        message=finding.message,
        severity=rule.meta.severity,
        confidence=finding.confidence or rule.meta.confidence,
        help=finding.help,
        entry=entry,
        dispatch=dispatch,
        key=key,
        related=finding.related,
        fix=finding.fix,
        elsewhere=finding.source is not None,
    )
