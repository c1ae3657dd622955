"""Formulas changed at random are found."""

from __future__ import annotations

import pytest

from derivlint.model import Model
from derivlint.verify.base import Base
from derivlint.verify.code.functions import collect
from derivlint.verify.comparison.verdicts import FindingVerdict
from derivlint.verify.findings import judged_findings
from derivlint.verify.runner import ORDINARY, QUICK, RunOptions, verify
from tests.verify.campaign import campaign
from tests.verify.conftest import NEEDS_COMPILER
from tests.verify.equal import drawn_rewrites, findings
from tests.verify.mutants import MUTATORS, mutants


def test_mutants_are_the_same_for_a_seed_and_differ_from_the_formula(model: Model) -> None:
    """Every kind of change is made, and changes the text."""
    functions = collect(model).functions
    first, again, other = (mutants(model, functions, seed, 60) for seed in (0, 0, 1))
    assert [each.after for each in first] == [each.after for each in again] != [each.after for each in other]
    assert all(each.after != each.before for each in first)
    assert {each.kind for each in mutants(model, functions, 2, 400)} == MUTATORS.keys()


@pytest.mark.full
@NEEDS_COMPILER
@pytest.mark.parametrize("seed", [0, 1])
def test_most_mutants_are_found(model: Model, seed: int) -> None:
    """Of those that compile 90%, of those that change a value 98%; ratchet."""
    functions = collect(model).functions
    result = campaign(model, functions, mutants(model, functions, seed, 740), ORDINARY)
    of_all, of_changing = result.rates()
    assert len(result.tried) >= 250
    assert of_all >= 0.9
    assert of_changing >= 0.98


@pytest.mark.full
@NEEDS_COMPILER
def test_formulas_written_in_another_way_have_no_new_findings(model: Model) -> None:
    """300 equal rewrites, of all operators with known findings among them."""
    rewrites = drawn_rewrites(model, 1, 300)
    assert len(rewrites) == 300
    assert [str(each.diagnostic) for each in findings(model, rewrites, QUICK, 1)] == []


@pytest.mark.full
@NEEDS_COMPILER
def test_most_entries_can_be_checked_and_the_file_beside_itself_has_nothing_new(model: Model) -> None:
    """Of the entries with a formula that can be executed, 500 are compared with differences; ratchet."""
    for seed in (0, 1):
        outcome = verify(model, None, RunOptions(QUICK, ("float64",), seed=seed), base=Base(model, "itself"))
        assert sum(bool(state.functions) for state in outcome.checked.values()) >= 500
        found = judged_findings(model, outcome)
        assert {each.verdict for each in found} == {FindingVerdict.UNCHANGED}
