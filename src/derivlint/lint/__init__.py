"""What a rule is, what it finds, and running rules over a model. Knows nothing of formats."""

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
