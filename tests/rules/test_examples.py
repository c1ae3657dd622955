"""The examples on the pages of rules: they are run, so that a page never shows what the rule does not find."""

from __future__ import annotations

import pytest

from derivlint.formats.rule_page import rule_sections
from derivlint.lint import Rule, run_rules
from derivlint.lint.rule import doc_examples
from derivlint.model import build_model
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions, read_native_functions
from derivlint.source import SourceFile
from tests.rules.test_cases import identify

RULES = load_rules()
#: Stands for what a page leaves out; such an example cannot be run, and the cases of the rule are.
LEFT_OUT = "..."
#: How pages say that a fix is unsafe.
UNSAFE = ("unsafe", "unasked", "a guess", "safe only")
#: Rules about what the YAML of a page cannot show: bytes that are not text, headers, bodies of helpers.
NOT_SHOWN = {"helper-without-gradient", "invalid-encoding", "nonlinear-helper", "unreadable-header"}
#: Pages that leave something out. Run what you can: a new rule belongs here only where a real schema fits no line.
ABBREVIATED = {
    "ambiguous-key",
    "forward-for-non-tensor-output",
    "missing-foreach-reference",
    "no-canonical-function",
    "several-inplace-tangents",
    "tensor-list-among-outputs",
    "unsupported-release",
    "yaml-limit-exceeded",
}


def operators(rule: Rule, bundled: NativeFunctions) -> NativeFunctions:
    """The bundled operators, with those that the cases of a rule bring along."""
    texts = {case.natives for case in rule.invalid if case.natives is not None}
    if not texts:
        return bundled
    sources = [SourceFile("native_functions.yaml", text) for text in sorted(texts)]
    own = read_native_functions(sources).written
    return NativeFunctions(
        (*bundled.written, *own), declarations=bundled.declarations, autograd_keys=bundled.autograd_keys
    )


def found(rule: Rule, text: str, natives: NativeFunctions) -> list[str]:
    # suppressions are judged by what all rules find
    asked = RULES if rule.target == "suppressions" else (rule,)
    result = run_rules(build_model(SourceFile("derivatives.yaml", text), natives), asked)
    return [item.message for item in result.diagnostics if item.rule == rule.name]


def is_run(rule: Rule) -> bool:
    return rule.name not in ABBREVIATED | NOT_SHOWN


@pytest.mark.parametrize("rule", [rule for rule in RULES if is_run(rule)], ids=identify)
def test_the_example_gives_a_finding(rule: Rule, bundled_natives: NativeFunctions) -> None:
    examples = doc_examples(rule.doc, "Example")
    assert examples, "the section has no example"
    natives = operators(rule, bundled_natives)
    for example in examples:
        assert found(rule, example, natives), f"the rule finds nothing in its example:\n{example}"


@pytest.mark.parametrize("rule", RULES, ids=identify)
def test_what_to_write_instead_gives_none(rule: Rule, bundled_natives: NativeFunctions) -> None:
    natives = operators(rule, bundled_natives)
    for example in doc_examples(rule.doc, "Instead"):
        assert found(rule, example, natives) == [], f"the rule finds something in what it recommends:\n{example}"


def test_only_abbreviated_examples_are_not_run() -> None:
    texts = {rule.name: "".join(doc_examples(rule.doc, "Example")) for rule in RULES}
    assert {name for name in ABBREVIATED if LEFT_OUT not in texts[name] and texts[name]} == set()
    assert {rule.name for rule in RULES} >= ABBREVIATED | NOT_SHOWN


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.fixable], ids=identify)
def test_a_rule_with_fixes_says_how_safe_they_are(rule: Rule, bundled_natives: NativeFunctions) -> None:
    text = rule_sections(rule)["Fix safety"]
    natives = operators(rule, bundled_natives)
    for case in rule.invalid:
        if case.fixed is None:
            continue
        model = build_model(SourceFile("derivatives.yaml", case.yaml), natives)
        asked = RULES if rule.target == "suppressions" else (rule,)
        fixes = [item.fix for item in run_rules(model, asked).diagnostics if item.rule == rule.name]
        if any(fix is not None and not fix.safe for fix in fixes):
            assert any(word in text for word in UNSAFE), f"unsafe, and the page does not say so:\n{text}"
