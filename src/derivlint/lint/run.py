"""Runs rules over a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from derivlint.lint.diagnostic import Diagnostic, Finding
from derivlint.lint.rule import Rule
from derivlint.lint.severity import Confidence, Severity
from derivlint.source import Span
from derivlint.source.records import dataclass

if TYPE_CHECKING:
    from derivlint.lint.suppression import RuleNames
    from derivlint.model import Model

INTERNAL_ERROR = "internal-error"
#: The target of rules that judge what comments silence, and so need to know what the other rules found.
SUPPRESSIONS = "suppressions"


@dataclass(frozen=True, slots=True)
class Result:
    """What rules found in one file.

    Attributes:
        diagnostics: the diagnostics, sorted, each once.
        internal_errors: how many checks crashed; each is a diagnostic as well.
        crashed: the rules whose checks did.
    """

    diagnostics: tuple[Diagnostic, ...]
    internal_errors: int
    crashed: frozenset[str] = frozenset()


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
    found: set[Diagnostic] = set()
    crashed: list[str] = []
    by_target: dict[str, Sequence[Any]] = {}
    for rule in rules:
        if rule.target != SUPPRESSIONS:
            if rule.target not in by_target:
                by_target[rule.target] = tuple(targets(model, rule.target))
            _ask(model, rule, by_target[rule.target], found, crashed)
    judged = judge_suppressions(model, rules, found, names=names, crashed=frozenset(crashed))
    found.update(judged.diagnostics)
    return Result(tuple(sorted(found)), len(crashed) + judged.internal_errors, judged.crashed)


def judge_suppressions(
    model: Model,
    rules: Iterable[Rule],
    found: Iterable[Diagnostic],
    *,
    names: RuleNames | None = None,
    crashed: frozenset[str] = frozenset(),
) -> Result:
    """Ask the rules about suppressions, when all other rules have run.

    Args:
        model: the file.
        rules: the rules of the run, also those that ran already.
        found: what those found, in all models of the file.
        names: the names of all rules that there are, by default of those that run.
        crashed: the rules whose checks crashed.
    """
    rules = tuple(rules)
    judging = [rule for rule in rules if rule.target == SUPPRESSIONS]
    judgements: set[Diagnostic] = set()
    crashes: list[str] = []
    if judging:
        from derivlint.lint.suppression import RuleNames, SuppressionsInUse

        run = frozenset(rule.name for rule in rules)
        in_use = SuppressionsInUse(model, found, names if names is not None else RuleNames(run), run - crashed)
        for rule in judging:
            _ask(model, rule, (in_use,), judgements, crashes)
    return Result(tuple(sorted(judgements)), len(crashes), crashed | set(crashes))


def _ask(model: Model, rule: Rule, about: Sequence[Any], found: set[Diagnostic], crashed: list[str]) -> None:
    """Add what a rule finds; where a check crashes, add that, and the name of the rule to ``crashed``."""
    find = rule.find
    for target in about:
        try:
            for finding in find(target):
                found.add(_diagnostic(model, rule, target, finding))
        except Exception as error:
            crashed.append(rule.name)
            found.add(_crash(model, rule, target, error))


def _diagnostic(model: Model, rule: Rule, target: object, finding: Finding) -> Diagnostic:
    entry, dispatch, key = _owner(finding.at if finding.at is not None else target)
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


def _crash(model: Model, rule: Rule, target: object, error: Exception) -> Diagnostic:
    entry, dispatch, key = _owner(target)
    span = getattr(target, "span", None)
    of = f' of "{entry}"' if entry is not None else ""
    return Diagnostic(
        path=model.source.path,
        span=span if isinstance(span, Span) else Span(0, 0),
        rule=INTERNAL_ERROR,
        message=f'rule "{rule.name}" crashed on the entry{of}: {type(error).__name__}: {error}',
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        help="this is a bug of derivlint; please report it with the entry",
        entry=entry,
        dispatch=dispatch,
        key=key,
    )


def _owner(target: object) -> tuple[str | None, str | None, str | None]:
    """The entry, dispatch key and key that an object belongs to."""
    # what is read from the cache needs neither rules nor models
    from derivlint.model import DispatchBody, Entry, KeyedFormula

    if isinstance(target, KeyedFormula):
        return target.entry.operator, target.body.key, target.key_text
    if isinstance(target, DispatchBody):
        return target.entry.operator, target.key, None
    if isinstance(target, Entry):
        return target.operator, None, None
    return None, None, None
