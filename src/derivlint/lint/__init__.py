"""Rules and findings, and running rules over a model. Knows nothing about output formats.

rule
    A module with a docstring, cases and one check (``rule``; ``judging`` has the decorator of checks).
finding, diagnostic
    What a rule yields, and the form of it that formats show (``diagnostic``).
precedence
    Findings that follow from others are dropped (``engine.precedence``).
analysis depth
    How deep a rule looks into formulas, and how deep an entry can be analyzed (``engine.depth``).
suppression
    A comment ``# derivlint: ignore[...]`` (``suppressions``).
baseline, fingerprint
    Known findings, and their identity when text moves (``baseline``, ``fingerprint``).

Begin with :mod:`derivlint.lint.rule` and :mod:`derivlint.lint.engine.run`. ``fixing`` applies fixes, ``fix_check``
tries them before they are offered, ``shared`` has wordings and fixes of several rules.
"""

from derivlint.lint.diagnostic import Confidence, Diagnostic, Finding, Fix, Related, Result, Severity, TextEdit
from derivlint.lint.engine.depth import AnalysisDepth
from derivlint.lint.engine.precedence import SupersededBy, Within
from derivlint.lint.engine.run import INTERNAL_ERROR, run_rules
from derivlint.lint.option import Option, Options, OptionValue
from derivlint.lint.rule import Invalid, Rule, RuleMeta, rule_from_module

__all__ = [
    "INTERNAL_ERROR",
    "AnalysisDepth",
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
    "SupersededBy",
    "TextEdit",
    "Within",
    "rule_from_module",
    "run_rules",
]
