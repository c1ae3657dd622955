"""Rules and findings, and running rules over a model; independent of output formats.

rule
    A module with a docstring, cases and one check (``rule``; ``judging`` has the decorator of checks).
finding, diagnostic
    The result of a check, and its form in output formats (``diagnostic``).
precedence
    The order of rules by which findings that follow from others are dropped (``engine.precedence``).
analysis depth
    The level of analysis that a rule needs, and that an entry allows (``engine.depth``).
suppression
    A comment ``# derivlint: ignore[...]`` (``suppressions``).
baseline, fingerprint
    Known findings, and their identity when text moves (``baseline``, ``fingerprint``).

Begin with :mod:`derivlint.lint.rule` and :mod:`derivlint.lint.engine.run`. ``fixing`` applies fixes, ``fix_check``
tries them before they are offered, ``shared`` has messages and fixes of several rules.
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
