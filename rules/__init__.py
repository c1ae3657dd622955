"""The rules: one rule, one file, named like the rule."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from derivlint.lint import Rule, rule_from_module

#: Every rule, in alphabetical order.
NAMES: tuple[str, ...] = (
    "ambiguous-key",
    "argument-in-two-keys",
    "conflicting-non-differentiable",
    "derivative-of-composite",
    "differentiable-non-tensor-output",
    "formula-for-non-tensor",
    "forward-for-non-tensor-output",
    "gradient-of-unnamed-return",
    "ignored-composite-entry",
    "ignored-derivative",
    "ignored-output-gradient",
    "ignored-void-formula",
    "inplace-output-switched-off",
    "missing-forward-output",
    "mixed-key",
    "non-differentiable-output",
    "output-index-out-of-range",
    "repeated-name-in-key",
    "tensor-list-among-outputs",
    "unknown-key",
    "unsupported-view-argument",
    "useless-non-differentiable",
    "wrong-output-differentiability-length",
    "wrong-output-name",
)


@cache
def load_rule(name: str) -> Rule:
    """One rule by its name."""
    return rule_from_module(name, import_module(f"{__name__}.{name.replace('-', '_')}"))


def load_rules() -> tuple[Rule, ...]:
    """Every rule, in alphabetical order."""
    return tuple(load_rule(name) for name in NAMES)
