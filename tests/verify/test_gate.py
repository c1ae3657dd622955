"""Where the rules that follow what formulas mean and the numbers disagree, on formulas changed at random."""

from __future__ import annotations

import pytest

from derivlint.model import Model
from derivlint.verify.runner import QUICK
from tests.verify.campaign import Campaign
from tests.verify.conftest import NEEDS_COMPILER
from tests.verify.gate import by_numbers, by_rules, report, semantic_rules

pytestmark = [pytest.mark.full, NEEDS_COMPILER]

SEED = 5
COUNT = 200


@pytest.fixture(scope="module")
def numeric(model: Model) -> Campaign:
    """What numbers say of some changed formulas."""
    return by_numbers(model, SEED, COUNT, QUICK)


@pytest.fixture(scope="module")
def static(model: Model, numeric: Campaign) -> list[set[str]]:
    """What rules of meaning say of each of them."""
    return by_rules(model, numeric.tried, semantic_rules())


def test_semantic_rules_are_distinguished_from_others() -> None:
    """There are about forty."""
    names = {rule.name for rule in semantic_rules()}
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


def test_the_report_counts_every_changed_formula(numeric: Campaign, static: list[set[str]]) -> None:
    """Those that one side alone speaks of are shown, with the formula before and after."""
    text = report(numeric, static)
    both = sum(1 for index in numeric.found if static[index])
    assert text.startswith(f"{len(numeric.tried)} changed formulas, {len(numeric.changing)} of other values\n")
    assert f"numbers find {len(numeric.found)}, rules {sum(map(bool, static))}, both {both}\n" in text
    alone = next(index for index in sorted(numeric.found) if not static[index])
    mutant = numeric.tried[alone]
    assert f"    - {mutant.before}\n    + {mutant.after}\n" in text + "\n"
