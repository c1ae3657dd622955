"""The rules: one rule, one file, named like the rule."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from derivlint.lint import Rule, rule_from_module

#: Every rule, in alphabetical order.
NAMES: tuple[str, ...] = (
)


@cache
def load_rule(name: str) -> Rule:
    """One rule by its name."""
    return rule_from_module(name, import_module(f"{__name__}.{name.replace('-', '_')}"))


def load_rules() -> tuple[Rule, ...]:
    """Every rule, in alphabetical order."""
    return tuple(load_rule(name) for name in NAMES)
