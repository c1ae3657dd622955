"""The rules: one rule, one file, named like the rule."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from derivlint.lint import Rule, rule_from_module

#: Every rule, in alphabetical order.
NAMES: tuple[str, ...] = (
    "accidental-save",
    "ambiguous-key",
    "argument-in-two-keys",
    "base-name-in-forward-formula",
    "broken-foreach-identifier",
    "conflicting-non-differentiable",
    "derivative-of-composite",
    "differentiable-non-tensor-output",
    "duplicate-entry",
    "duplicate-yaml-key",
    "empty-dispatch",
    "entry-without-formulas",
    "foreach-forward-key",
    "foreach-value-indexed-twice",
    "formula-for-non-tensor",
    "forward-for-non-tensor-output",
    "forward-without-tangent",
    "functional-needs-self",
    "grad-input-mask-out-of-place",
    "grad-input-mask-out-of-range",
    "gradient-in-forward-formula",
    "gradient-of-unnamed-return",
    "grads-index-out-of-range",
    "ignored-composite-entry",
    "ignored-derivative",
    "ignored-key-beside-dispatch",
    "ignored-output-gradient",
    "ignored-void-formula",
    "inplace-foreach-entry",
    "inplace-output-switched-off",
    "inplace-saves-named-output",
    "invalid-dispatch-key",
    "invalid-encoding",
    "invalid-formula-syntax",
    "malformed-dispatch",
    "malformed-entry",
    "malformed-output-differentiability",
    "malformed-schema",
    "malformed-wrap-opt-if",
    "misplaced-sym-strides",
    "missing-default-key",
    "missing-foreach-reference",
    "missing-forward-output",
    "misspelt-function",
    "misspelt-keyword",
    "misused-auto-element-wise",
    "misused-auto-linear",
    "mixed-grad-and-grads",
    "mixed-key",
    "mixed-named-gradient",
    "no-canonical-function",
    "non-differentiable-output",
    "non-string-formula",
    "non-string-key",
    "non-symint-size",
    "not-a-list-of-entries",
    "odd-output-differentiability",
    "only-first-of-grads",
    "original-self-out-of-place",
    "out-variant-entry",
    "output-index-out-of-range",
    "overwritten-self-in-forward-formula",
    "primal-in-backward-formula",
    "refused-by-torchgen",
    "repeated-name-in-key",
    "reserved-argument-name",
    "saved-tensor-list-output",
    "several-inplace-tangents",
    "strides-in-inplace-formula",
    "switched-off-gradient",
    "tensor-list-among-outputs",
    "trailing-semicolon",
    "undeclared-tangent",
    "undefined-name",
    "unknown-key",
    "unknown-schema",
    "unsupported-foreach-save",
    "unsupported-view-argument",
    "useless-non-differentiable",
    "wrong-output-differentiability-length",
    "wrong-output-name",
    "yaml-limit-exceeded",
    "yaml-syntax-error",
)


@cache
def load_rule(name: str) -> Rule:
    """One rule by its name."""
    return rule_from_module(name, import_module(f"{__name__}.{name.replace('-', '_')}"))


def load_rules() -> tuple[Rule, ...]:
    """Every rule, in alphabetical order."""
    return tuple(load_rule(name) for name in NAMES)
