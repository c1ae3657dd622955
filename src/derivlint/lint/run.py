"""Runs rules over a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from derivlint.lint.diagnostic import Diagnostic, Finding
from derivlint.lint.rule import Rule
from derivlint.lint.severity import Confidence, Severity
from derivlint.model import DispatchBody, Entry, KeyedFormula, Model
from derivlint.source import Span

INTERNAL_ERROR = "internal-error"


@dataclass(frozen=True, slots=True)
class Result:
    """What rules found in one file.

    Attributes:
        diagnostics: the diagnostics, sorted, each once.
        internal_errors: how many checks crashed; each is a diagnostic as well.
    """

    diagnostics: tuple[Diagnostic, ...]
    internal_errors: int


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


def run_rules(model: Model, rules: Iterable[Rule]) -> Result:
    """Ask every rule about every part of the model; a check that crashes is a finding, and the others go on."""
    found: set[Diagnostic] = set()
    crashes = 0
    by_target: dict[str, Sequence[Any]] = {}
    for rule in rules:
        if rule.target not in by_target:
            by_target[rule.target] = tuple(targets(model, rule.target))
        for target in by_target[rule.target]:
            try:
                for finding in rule.check(target):
                    found.add(_diagnostic(model, rule, target, finding))
            except Exception as error:
                crashes += 1
                found.add(_crash(model, rule, target, error))
    return Result(tuple(sorted(found)), crashes)


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
    if isinstance(target, KeyedFormula):
        return target.entry.operator, target.body.key, target.key_text
    if isinstance(target, DispatchBody):
        return target.entry.operator, target.key, None
    if isinstance(target, Entry):
        return target.operator, None, None
    return None, None, None
