"""Where the rules that follow what formulas mean and the numbers disagree, on formulas changed at random."""

from __future__ import annotations

import sys

import pytest

from derivlint.lint import Confidence, Rule, Severity, run_rules
from derivlint.model import Model, build_model
from derivlint.rules import load_rules
from derivlint.source import SourceFile
from derivlint.verify.functions import collect
from derivlint.verify.runner import QUICK
from tests.verify.campaign import Campaign, campaign
from tests.verify.conftest import NEEDS_COMPILER
from tests.verify.mutants import Mutant, entry_text, mutants

pytestmark = [pytest.mark.full, NEEDS_COMPILER]

SEED = 5
COUNT = 200


@pytest.fixture(scope="module")
def numeric(model: Model) -> Campaign:
    """What numbers say of some changed formulas."""
    functions = collect(model).functions
    return campaign(model, functions, mutants(model, functions, SEED, COUNT), QUICK)


@pytest.fixture(scope="module")
def static(model: Model, numeric: Campaign) -> list[set[str]]:
    """What rules of meaning say of each of them that they do not say of the formula as it was."""
    rules = rules_of_meaning()
    return [
        told(model, mutant, mutant.after, rules) - told(model, mutant, mutant.before, rules) for mutant in numeric.tried
    ]


def rules_of_meaning() -> tuple[Rule, ...]:
    """The rules that reckon with what formulas compute: those whose modules use what is known of their meaning."""
    return tuple(
        rule
        for rule in load_rules()
        if any(
            getattr(used, "__module__", "").startswith("derivlint.meaning")
            for used in vars(sys.modules[rule.check.__module__]).values()
        )
    )


def told(model: Model, mutant: Mutant, formula: str, rules: tuple[Rule, ...]) -> set[str]:
    """The rules whose errors and warnings a user sees for the entry with a formula."""
    entry = SourceFile("derivatives.yaml", entry_text(model, mutant.original.line, formula))
    found = run_rules(build_model(entry, model.natives), rules).diagnostics
    return {item.rule for item in found if item.severity is not Severity.INFO and item.confidence is Confidence.HIGH}


def test_rules_of_meaning_are_told_from_others() -> None:
    """There are about forty."""
    names = {rule.name for rule in rules_of_meaning()}
    assert len(names) >= 35
    assert {"wrong-gradient", "unused-gradient", "swapped-arguments"} <= names
    assert "invalid-formula-syntax" not in names


def test_no_rule_speaks_of_a_formula_that_is_right(numeric: Campaign, static: list[set[str]]) -> None:
    """What gives the same numbers at all inputs, and in which numbers find nothing, is not reported."""
    right = set(range(len(numeric.tried))) - numeric.found - numeric.changing
    assert [(sorted(static[index]), numeric.tried[index].after) for index in sorted(right) if static[index]] == []


def test_numbers_find_what_rules_cannot(numeric: Campaign, static: list[set[str]]) -> None:
    """Ratchets: rules see so many of the formulas that numbers find wrong, and none that they miss."""
    seen = [index for index in sorted(numeric.found) if static[index]]
    assert len(seen) >= 0.48 * len(numeric.found)
    missed = [numeric.tried[index].after for index in sorted(numeric.changing - numeric.found) if static[index]]
    assert missed == []
