"""Rules and findings, and running rules over a model. Knows nothing about output formats.

Begin with :mod:`derivlint.lint.rule` (what a rule is) and :mod:`derivlint.lint.run` (how rules run).

    kept          checking a text again after an edit, reusing earlier findings
    precedence    dropping findings that follow from others
    suppression   ``# derivlint: ignore[...]`` comments
    baseline      known findings, by fingerprint
    changes       findings of changed entries only
    fixing        applying edits
    *_wording     messages that several rules share
"""

from derivlint.lint.diagnostic import Diagnostic, Finding, Fix, Related, TextEdit
from derivlint.lint.option import Option, Options, OptionValue
from derivlint.lint.precedence import Within, Yields
from derivlint.lint.result import Result
from derivlint.lint.rule import Invalid, Rule, RuleMeta, rule_from_module
from derivlint.lint.run import INTERNAL_ERROR, run_rules
from derivlint.lint.severity import Confidence, Severity

__all__ = [
    "INTERNAL_ERROR",
    "Confidence",
    "Diagnostic",
    "Finding",
    "Fix",
    "Invalid",
    "Option",
    "OptionValue",
    "Options",
    "Related",
    "Result",
    "Rule",
    "RuleMeta",
    "Severity",
    "TextEdit",
    "Within",
    "Yields",
    "rule_from_module",
    "run_rules",
]
