"""Running rules: order, duplicates and ownership."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from derivlint.lint import Confidence, Diagnostic, Finding, Rule, RuleMeta, Severity, run_rules
from derivlint.lint.rule import Target
from derivlint.model import DerivativeFormula, Model, build_model
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span

TEXT = """\
- name: sin(Tensor self) -> Tensor
  self: grad * self.cos()
  result: auto_element_wise
- name: cos(Tensor self) -> Tensor
  self: grad * -self.sin()
"""


def make_rule(name: str, target: Target, check: Any, severity: Severity = Severity.ERROR) -> Rule:
    meta = RuleMeta(severity=severity, group="style", confidence=Confidence.MEDIUM)
    return Rule(name, "summary", "doc", meta, target, check, (), ())


def model(natives: NativeFunctions) -> Model:
    return build_model(SourceFile("d.yaml", TEXT), natives)


def test_findings_become_sorted_diagnostics_without_duplicates(bundled_natives: NativeFunctions) -> None:
    def lines(formula: DerivativeFormula) -> Iterable[Finding]:
        yield Finding(formula.value_span, "formula")
        yield Finding(formula.value_span, "formula")

    def whole(model: Model) -> Iterable[Finding]:
        yield Finding(model.entries[1].name_span, "entry", at=model.entries[1], confidence=Confidence.HIGH)

    rules = [make_rule("b-rule", "formula", lines), make_rule("a-rule", "model", whole, Severity.INFO)]
    result = run_rules(model(bundled_natives), rules)
    assert result.internal_errors == 0
    assert [(d.rule, d.entry, d.dispatch, d.key, d.severity, d.confidence) for d in result.diagnostics] == [
        ("b-rule", "sin", "Default", "self", Severity.ERROR, Confidence.MEDIUM),
        ("b-rule", "sin", "Default", "result", Severity.ERROR, Confidence.MEDIUM),
        ("a-rule", "cos", None, None, Severity.INFO, Confidence.HIGH),
        ("b-rule", "cos", "Default", "self", Severity.ERROR, Confidence.MEDIUM),
    ]


def test_diagnostics_sort_by_path_place_rule_and_message() -> None:
    def make(path: str, start: int, rule: str, message: str) -> Diagnostic:
        return Diagnostic(path, Span(start, start + 1), rule, message, Severity.ERROR, Confidence.HIGH)

    ordered = [
        make("a", 0, "x", "m"),
        make("a", 3, "a", "m"),
        make("a", 3, "b", "a"),
        make("a", 3, "b", "b"),
        make("b", 0, "a", "a"),
    ]
    shuffled = ordered[::-1]
    assert sorted(shuffled) == ordered


def test_severities_and_confidences_are_ordered() -> None:
    assert Severity.ERROR > Severity.WARNING > Severity.INFO
    assert max(Confidence) is Confidence.HIGH
