"""Rules and findings, and running rules over a model. Knows nothing about output formats.

Begin with :mod:`derivlint.lint.rule` (what a rule is) and :mod:`derivlint.lint.engine.run` (how rules run).

    engine        running rules; ``incremental`` checks again after an edit,
                  ``precedence`` drops what follows from others
    suppressions  ``# derivlint: ignore[...]`` comments
    shared        findings, wordings and fixes that several rules share
    baseline      known findings, by fingerprint
    changes       findings of changed entries only
    fixing        applying edits
    fix_check     trying fixes before they are offered
"""

from derivlint.lint.diagnostic import Diagnostic, Finding, Fix, Related, Result, TextEdit
from derivlint.lint.engine.depth import AnalysisDepth
from derivlint.lint.engine.precedence import SupersededBy, Within
from derivlint.lint.engine.run import INTERNAL_ERROR, run_rules
from derivlint.lint.option import Option, Options, OptionValue
from derivlint.lint.rule import Invalid, Rule, RuleMeta, rule_from_module
from derivlint.lint.severity import Confidence, Severity

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
