"""Selection of rules by names, patterns, groups and ``ALL``, from the lowest to the highest precedence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

import derivlint.rules
from derivlint.lint import Rule
from derivlint.lint.option import GROUPS
from derivlint.lint.wording import unknown_name

ALL = "ALL"
_WILD = frozenset("*?[")


class Selection(Struct, frozen=True):
    """The selectors of one source of settings.

    Attributes:
        select: the only rules to run, overriding sources of lower precedence; empty for no change.
        ignore: rules that do not run.
        extend_select: rules that run in addition.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()


def selected(rules: Sequence[Rule], selections: Iterable[Selection], preview: bool) -> tuple[Rule, ...]:
    """Return the rules that run.

    Within a source the more specific selector wins, and ``ignore`` wins between equally specific ones: ``select =
    ["ALL"]`` with ``ignore = ["missing-*"]`` and ``extend-select = ["missing-symint"]`` runs missing-symint. Rules in
    preview are selected by full name, or by any selector with ``preview``.
    """
    offered = {rule.name for rule in rules if preview or rule.meta.status == "stable"}
    chosen = set(offered)
    for selection in selections:
        if selection.select:
            chosen.clear()
        for rule in rules:
            name = rule.name
            selected_by = _strength((*selection.select, *selection.extend_select), name, name not in offered)
            ignored_by = _strength(selection.ignore, name)
            if ignored_by is not None and (selected_by is None or ignored_by >= selected_by):
                chosen.discard(name)
            elif selected_by is not None:
                chosen.add(name)
    return tuple(rule for rule in rules if rule.name in chosen)


def _strength(selectors: tuple[str, ...], name: str, exact_only: bool = False) -> tuple[int, int] | None:
    """Return the specificity of the most specific selector that matches a name, or None."""
    return max(
        (specificity(item) for item in selectors if (item == name if exact_only else matches(item, name))),
        default=None,
    )


def specificity(selector: str) -> tuple[int, int]:
    """Return a sort key: ``ALL``, then groups, then patterns by their number of letters, then names."""
    if selector == ALL:
        return 0, 0
    if selector in GROUPS:
        return 1, 0
    if _WILD.isdisjoint(selector):
        return 3, 0
    return 2, sum(char not in _WILD for char in selector)


def matches(selector: str, name: str) -> bool:
    """Whether a selector matches the name of a rule."""
    if selector in (ALL, name):
        return True
    if selector in GROUPS:
        return derivlint.rules.group_of(name) == selector
    return not _WILD.isdisjoint(selector) and fnmatchcase(name, selector)


def any_matches(selectors: Iterable[str], name: str) -> bool:
    """Whether one of several selectors matches the name of a rule."""
    return any(matches(selector, name) for selector in selectors)


def known_names() -> tuple[str, ...]:
    """Return the names of rules and findings that settings can select."""
    return (*derivlint.rules.NAMES, *derivlint.rules.EXTRA_FINDINGS)


def unknown_rule(name: str, names: Iterable[str]) -> str:
    """Return the message about an unknown rule."""
    return unknown_name(f'unknown rule "{name}"', name, names, '"derivlint rules" lists them')


class Resolved(Struct, frozen=True):
    """A selector resolved to existing rules.

    Attributes:
        selector: the selector, with the current name of a renamed rule.
        warning: a deprecation, or None.
        mistake: the error in it, or None.
    """

    selector: str
    warning: str | None = None
    mistake: str | None = None


def resolve(text: str, *, patterns: bool = True) -> Resolved:
    """Resolve a selector.

    Args:
        text: the user's text.
        patterns: whether ``ALL``, groups and patterns are allowed in addition to names.
    """
    names = known_names()
    if text in names or (patterns and (text == ALL or text in GROUPS)):
        return Resolved(text)
    present = derivlint.rules.RENAMED.get(text)
    if present is not None:
        return Resolved(present, warning=f'rule "{text}" is now called "{present}"')
    if patterns and not _WILD.isdisjoint(text):
        if any(fnmatchcase(name, text) for name in names):
            return Resolved(text)
        return Resolved(text, mistake=f'no rule matches "{text}"')
    if text in GROUPS:
        return Resolved(text, mistake=f'"{text}" is a group of rules; name a rule')
    return Resolved(text, mistake=unknown_rule(text, (*names, *GROUPS, ALL) if patterns else names))
