"""Runs rules over a model.

A check that crashes is a finding at the entry on which it crashed, and everything else is still found: rules for one
entry, body or line go on with the next; a rule that looks at the file as a whole is asked again about a file without
the entry on which it crashed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from derivlint.lint.crash import INTERNAL_ERROR, Crash, Crashed, diagnostics_of, entry_in, entry_of, place_of
from derivlint.lint.diagnostic import Diagnostic, Finding
from derivlint.lint.rule import Rule
from derivlint.lint.watched import Watched
from derivlint.source import Span

if TYPE_CHECKING:
    from derivlint.lint.suppression import PlacedSuppression, RuleNames, SuppressionsInUse
    from derivlint.model import Entry, Model

__all__ = ["INTERNAL_ERROR", "SUPPRESSIONS", "Result", "Unjudged", "judge_suppressions", "run_rules", "targets"]

#: Names of operators, and of rules that did not judge their entries.
Unjudged: TypeAlias = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
#: The target of rules that judge what comments silence, and so need to know what the other rules found.
SUPPRESSIONS = "suppressions"
#: After so many crashes on single entries a rule for the whole file is given up.
MAX_CRASHES = 100


class Result(Struct, frozen=True):
    """What rules found in one file.

    Attributes:
        diagnostics: the diagnostics, sorted, each once.
        internal_errors: how many of them say that checks crashed: one for each entry and cause.
        crashed: the checks that did.
        unjudged: what was not judged, where that was asked for; see :meth:`Judged.unjudged`.
    """

    diagnostics: tuple[Diagnostic, ...]
    internal_errors: int
    crashed: frozenset[Crashed] = frozenset()
    unjudged: Unjudged | None = None


def targets(model: Model, kind: str) -> Iterator[Any]:
    """The objects that a rule with this target is asked about."""
    if kind == "model":
        yield model
        return
    for entry in model.entries:
        if kind == "entry":
            yield entry
            continue
        for body in entry.bodies:
            if kind == "body":
                yield body
            else:
                yield from body.lines


def run_rules(model: Model, rules: Iterable[Rule], *, names: RuleNames | None = None) -> Result:
    """Ask every rule about every part of the model; a check that crashes is a finding, and the others go on.

    Args:
        model: the file.
        rules: the rules to run; what comments silence is found as well, and rules about suppressions judge it.
        names: the names of all rules that there are, by default of those that run.
    """
    rules = tuple(rules)
    run = _Run(model)
    by_target: dict[str, Sequence[Any]] = {}
    for rule in rules:
        if rule.target == "model":
            run.ask_of_file(rule)
        elif rule.target != SUPPRESSIONS:
            if rule.target not in by_target:
                by_target[rule.target] = tuple(targets(model, rule.target))
            run.ask(rule, by_target[rule.target])
    result = run.result()
    judged = judge_suppressions(model, rules, result.diagnostics, names=names, crashed=result.crashed)
    return Result(
        tuple(sorted({*result.diagnostics, *judged.diagnostics})),
        result.internal_errors + judged.internal_errors,
        judged.crashed,
    )


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
    if judging or says_unjudged:
        # what is read from the cache needs no models
        from derivlint.lint.judged import Judged
        from derivlint.lint.suppression import RuleNames, SuppressionsInUse

        found = tuple(found)
        judged = Judged(models or (model,), rules, crashed, found)
        unjudged = judged.unjudged() if says_unjudged else None
        known = names if names is not None else RuleNames(frozenset(rule.name for rule in rules))
        in_use = SuppressionsInUse(model, found, known, judged)
        for rule in judging:
            run.ask_of_suppressions(rule, in_use)
    result = run.result()
    return Result(result.diagnostics, result.internal_errors, crashed | result.crashed, unjudged)


class _Run:
    """What rules find in a model, and how they crash."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._found: set[Diagnostic] = set()
        self._crashes: list[Crash] = []

    def result(self) -> Result:
        """What was found, with the crashes."""
        crashes = tuple(diagnostics_of(self._crashes, self._model.source.path))
        crashed = frozenset(crash.crashed for crash in self._crashes)
        return Result(tuple(sorted({*self._found, *crashes})), len(crashes), crashed)

    def ask(self, rule: Rule, about: Iterable[Any]) -> None:
        """Add what a rule finds in entries, bodies or lines."""
        find = rule.find
        for target in about:
            try:
                for finding in find(target):
                    self._add(rule, target, finding)
            except Exception as error:
                self._crashes.append(Crash(rule.name, target, entry_of(target), error, place_of(target)))

    def ask_of_file(self, rule: Rule) -> None:
        """Add what a rule finds in the file: after a crash, in the file without the entry on which it crashed."""
        left_out: list[Entry] = []
        while len(left_out) <= MAX_CRASHES:
            with self._model.narrowed(Watched(self._model.entries), left_out) as watched:
                try:
                    self._find(rule, self._model)
                    return
                except Exception as error:
                    entry = watched.current or entry_in(_left(error))
                    if any(entry is other for other in left_out):
                        # other entries ask for it: leaving it out does not help
                        entry = None
                    self._crashed_on(rule, entry, error)
            if entry is None:
                return
            left_out.append(entry)
        self._crashed_on(rule, None, RuntimeError(f"given up after {len(left_out)} crashes"))

    def ask_of_suppressions(self, rule: Rule, in_use: SuppressionsInUse) -> None:
        """Add what a rule finds in the suppressions: after a crash, in those without the one on which it crashed."""
        every = in_use.placed
        left_out: list[PlacedSuppression] = []
        while True:
            watched = in_use.placed = Watched(item for item in every if not any(item is other for other in left_out))
            try:
                self._find(rule, in_use)
            except Exception as error:
                placed = watched.current
                where = placed.suppression.span if placed is not None else Span(0, 0)
                entry = placed.entry if placed is not None else None
                self._crashes.append(Crash(rule.name, entry, entry, error, where))
                if placed is None or len(left_out) >= MAX_CRASHES:
                    break
                left_out.append(placed)
            else:
                break
        in_use.placed = every

    def _find(self, rule: Rule, target: Any) -> None:
        for finding in rule.find(target):
            self._add(rule, target, finding)

    def _add(self, rule: Rule, target: Any, finding: Finding) -> None:
        self._found.add(_diagnostic(self._model, rule, target, finding))

    def _crashed_on(self, rule: Rule, entry: Entry | None, error: Exception) -> None:
        where = entry.span if entry is not None else Span(0, 0)
        self._crashes.append(Crash(rule.name, entry, entry, error, where))


def _left(error: Exception) -> Any:
    """The functions that an exception left, without the one here that called the rule."""
    return error.__traceback__.tb_next if error.__traceback__ is not None else None


def _diagnostic(model: Model, rule: Rule, target: object, finding: Finding) -> Diagnostic:
    # what is read from the cache needs neither rules nor models
    from derivlint.lint.ownership import names_of

    entry, dispatch, key = names_of(finding.at if finding.at is not None else target)
    return Diagnostic(
        path=model.source.path,
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
    )
