"""Options of rules: documented, and heeded."""

from __future__ import annotations

import re

import pytest

from derivlint.lint import Option, Options, OptionValue, Rule, run_rules
from derivlint.model import build_model
from derivlint.rules import load_rule, load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile

WITH_OPTIONS = [rule for rule in load_rules() if rule.meta.options]


def found(rule: Rule, text: str, natives: NativeFunctions) -> list[tuple[str, str]]:
    """The message and the confidence of each finding."""
    result = run_rules(build_model(SourceFile("derivatives.yaml", text), natives), [rule])
    assert result.internal_errors == 0
    return [(item.message, item.confidence.value) for item in result.diagnostics]


@pytest.mark.parametrize("rule", WITH_OPTIONS, ids=lambda rule: rule.name)
def test_every_option_is_documented_with_its_default_and_its_check_takes_it(rule: Rule) -> None:
    parameters = rule.check.__code__.co_varnames[: rule.check.__code__.co_argcount]
    assert parameters in ((rule.target, "options"), (rule.target, "model", "options"))
    section = rule.doc.partition("## Options\n")[2].partition("\n## ")[0]
    described = re.findall(r"^- ``(.*)`` \(default: (.*)\): ", section, re.MULTILINE)
    defaults = [(item.name, "none" if item.default == () else str(item.default)) for item in rule.meta.options]
    assert described == defaults
    assert all(not item.doc.endswith(".") and item.doc for item in rule.meta.options)


def test_only_rules_with_options_have_a_section_of_them() -> None:
    assert [rule.name for rule in load_rules() if "## Options" in rule.doc] == [rule.name for rule in WITH_OPTIONS]


CASES: list[tuple[str, dict[str, OptionValue], dict[str, OptionValue]]] = [
    ("undefined-function", {"functions": ("mm_mat1_bak*",)}, {"functions": ("mm_mat1",)}),
    ("undefined-constant", {"names": ("*",)}, {"names": ("M_",)}),
    ("deprecated-function", {"allow": ("is_*",)}, {"allow": ("is",)}),
    ("unguarded-gradient", {"operators": ("_prelu*",)}, {"operators": ("prelu",)}),
    ("unguarded-optional", {"operators": ("batch_norm*",)}, {"operators": ("norm",)}),
    ("missing-argument-derivative", {"arguments": ("*",)}, {"arguments": ("nope",)}),
]


@pytest.mark.parametrize(("name", "silent", "loud"), CASES, ids=[name for name, _, _ in CASES])
def test_what_an_option_lists_is_no_finding(
    name: str, silent: dict[str, OptionValue], loud: dict[str, OptionValue], bundled_natives: NativeFunctions
) -> None:
    rule = load_rule(name)
    text = rule.invalid[0].yaml
    usual = found(rule, text, bundled_natives)
    assert usual
    assert found(rule.configured(silent), text, bundled_natives) == []
    assert found(rule.configured(loud), text, bundled_natives) == usual


def test_options_have_defaults_and_types() -> None:
    options = Options.of((Option("on", True, "x"), Option("many", 3, "x"), Option("names", ("a*",), "x")))
    assert (options.flag("on"), options.number("many"), options.names("names")) == (True, 3, ("a*",))
    assert options.changed({"many": 4}).number("many") == 4
    assert options.number("many") == 3
    assert (options.lists("names", "ab"), options.lists("names", "ba")) == (True, False)
    with pytest.raises(KeyError):
        options.number("nope")
