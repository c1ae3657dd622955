"""The rules: one rule per file, named like the rule.

Each file has a docstring (the rule's page), ``META``, ``VALID`` and ``INVALID`` cases, and one ``check``. To see what a
rule looks like, read ``undefined_name.py``; :mod:`derivlint.lint.rule` says what ``check`` may take.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from derivlint.lint import Rule, rule_from_module

#: Every rule, in alphabetical order.
NAMES: tuple[str, ...] = (
    "accidental-save",
    "affine-gradient",
    "affine-tangent",
    "aliased-tangent",
    "ambiguous-call",
    "ambiguous-key",
    "ambiguous-name",
    "argument-in-two-keys",
    "assignment-in-formula",
    "base-name-in-forward-formula",
    "broken-foreach-identifier",
    "comma-operator",
    "conflicting-non-differentiable",
    "conjugated-primal",
    "contradictory-formulas",
    "copied-view-tangent",
    "deprecated-function",
    "derivative-of-composite",
    "differentiable-integral-output",
    "differentiable-non-tensor-output",
    "differing-sibling-formula",
    "dispatch-without-default",
    "dropped-argument",
    "dropped-override-key",
    "duplicate-entry",
    "duplicate-yaml-key",
    "empty-dispatch",
    "entry-without-formulas",
    "fewer-names-than-values",
    "first-order-tangent",
    "foreach-forward-key",
    "foreach-value-indexed-twice",
    "formula-for-non-tensor",
    "formula-too-large",
    "forward-for-non-tensor-output",
    "forward-without-tangent",
    "functional-needs-self",
    "grad-input-mask-of-single-argument",
    "grad-input-mask-out-of-range",
    "gradient-in-forward-formula",
    "gradient-of-unnamed-return",
    "gradients-out-of-order",
    "grads-index-out-of-range",
    "identical-operands",
    "ignored-composite-entry",
    "ignored-derivative",
    "ignored-key-beside-dispatch",
    "ignored-output-gradient",
    "ignored-void-formula",
    "illegal-operand-shapes",
    "incompatible-branches",
    "inplace-foreach-entry",
    "inplace-output-switched-off",
    "inplace-saves-named-output",
    "integer-base",
    "integer-division",
    "invalid-dispatch-key",
    "invalid-encoding",
    "invalid-formula-syntax",
    "invalid-version",
    "main-form-without-entry",
    "malformed-dispatch",
    "malformed-entry",
    "malformed-output-differentiability",
    "malformed-schema",
    "malformed-suppression",
    "malformed-wrap-opt-if",
    "miscast-gradient",
    "mismatched-argument",
    "misplaced-suppression",
    "misplaced-sym-strides",
    "missing-argument-derivative",
    "missing-conjugate",
    "missing-default-key",
    "missing-foreach-reference",
    "missing-forward-output",
    "missing-grad-input-mask",
    "missing-grad-output",
    "missing-symint",
    "missing-tangent",
    "misspelt-keyword",
    "misused-auto-element-wise",
    "misused-auto-linear",
    "mixed-grad-and-grads",
    "mixed-key",
    "mixed-named-gradient",
    "never-finite",
    "no-canonical-function",
    "non-boolean-output-differentiability",
    "non-differentiable-output",
    "non-finite-derivative",
    "non-string-formula",
    "non-string-key",
    "non-symint-size",
    "nonlinear-gradient",
    "nonlinear-tangent",
    "not-a-list-of-entries",
    "not-twice-differentiable",
    "only-first-of-grads",
    "optional-without-value",
    "original-self-out-of-place",
    "out-variant-entry",
    "output-index-out-of-range",
    "overwritten-self-in-forward-formula",
    "overwritten-tensor",
    "primal-in-backward-formula",
    "refused-by-torchgen",
    "reordered-key",
    "repeated-gradient",
    "repeated-name-in-key",
    "reserved-argument-name",
    "saved-tensor-list-output",
    "several-inplace-tangents",
    "strides-in-inplace-formula",
    "superfluous-symint",
    "suppression-without-reason",
    "swapped-arguments",
    "switched-off-gradient",
    "tensor-list-among-outputs",
    "trailing-semicolon",
    "uncalled-function",
    "uncompilable-variant",
    "unconditional-output-dtype",
    "unconjugated-tangent",
    "undeclared-tangent",
    "undefined-constant",
    "undefined-function",
    "undefined-member",
    "undefined-name",
    "undefined-namespace-member",
    "unguarded-gradient",
    "unguarded-optional",
    "unknown-key",
    "unknown-schema",
    "unknown-suppression",
    "unreadable-header",
    "unsupported-foreach-save",
    "unsupported-view-argument",
    "unused-gradient",
    "unused-output-gradient",
    "unused-suppression",
    "unused-tangent",
    "useless-non-differentiable",
    "wrong-argument-count",
    "wrong-argument-type",
    "wrong-auto-element-wise",
    "wrong-auto-linear",
    "wrong-construction",
    "wrong-gradient",
    "wrong-gradient-at-ties",
    "wrong-gradient-shape",
    "wrong-index",
    "wrong-member-access",
    "wrong-operand-types",
    "wrong-output-differentiability-length",
    "wrong-output-name",
    "wrong-result-type",
    "wrong-saved-expression",
    "wrong-tangent",
    "wrong-tangent-shape",
    "yaml-limit-exceeded",
    "yaml-syntax-error",
)

#: What running formulas finds (``derivlint verify``), each name with what it says.
NUMERIC: dict[str, str] = {
    "crash": "evaluating the formula raises an error or ends the process",
    "different-convention": "where differences cannot tell, it is not the gradient or tangent of the installed PyTorch",
    "inconsistent-vjp-jvp": "backward and forward formulas are not of the same linear map",
    "mask-ignored": "a gradient changes with which others are needed",
    "wrong-gradient-shape": "a gradient or tangent does not have the shape of what it belongs to",
    "wrong-jvp": "the tangent is not that of the operator, by finite differences",
    "wrong-second-derivative": "what autograd makes of the formula is not its derivative",
    "wrong-undefined-gradient": "an undefined incoming gradient is not taken as zeros",
    "wrong-vjp": "the gradient is not that of the operator, by finite differences",
}

#: What is found by no rule, but is ignored and judged by name like what rules find.
EXTRA_FINDINGS: dict[str, str] = {"compiler-error": "the C++ compiler refuses the formula", **NUMERIC}

#: Former names of rules and what they are called now: old configurations and comments go on working.
RENAMED: dict[str, str] = {
    "broken-variant": "uncompilable-variant",
    "grad-input-mask-out-of-place": "grad-input-mask-of-single-argument",
    "odd-output-differentiability": "non-boolean-output-differentiability",
    "odd-sibling-formula": "differing-sibling-formula",
    "other-argument": "mismatched-argument",
    "other-convention": "different-convention",
    "wrong-tie-shares": "wrong-gradient-at-ties",
}


def group_of(name: str) -> str | None:
    """The group of a rule, or of what is found by none."""
    if name in NAMES:
        return load_rule(name).meta.group
    return "numbers" if name in NUMERIC else "types" if name in EXTRA_FINDINGS else None


@cache
def load_rule(name: str) -> Rule:
    """One rule by its name."""
    return rule_from_module(name, import_module(f"{__name__}.{name.replace('-', '_')}"))


def load_rules() -> tuple[Rule, ...]:
    """Every rule, in alphabetical order."""
    return tuple(load_rule(name) for name in NAMES)
