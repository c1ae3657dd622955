"""Wrong formulas that PyTorch's file really had, in the entries of today: those that compile are found by numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from derivlint.model import Model, build_model
from derivlint.source import SourceFile
from derivlint.verify.code.functions import FormulaFunction, collect
from derivlint.verify.runner import ORDINARY
from tests.verify.campaign import Unit, rules_against
from tests.verify.conftest import NEEDS_COMPILER

BUGS = Path(__file__).parents[1] / "conformance" / "historical_bugs.jsonl"

MISSED = [
    # no CPU can evaluate it
    ("pytorch/pytorch#27039", "_cudnn_ctc_loss"),
    # right today: what is selected of a tensor without dimension has none either
    ("pytorch/pytorch#52203", "index_copy"),
]

pytestmark = [pytest.mark.full, NEEDS_COMPILER]


def functions_of(model: Model, entry: str) -> list[FormulaFunction]:
    """The functions of the formulas of one entry."""
    return collect(build_model(SourceFile("derivatives.yaml", entry), model.natives)).functions


def changed(before: list[FormulaFunction], after: list[FormulaFunction]) -> list[FormulaFunction]:
    """The functions of formulas that were fixed; what forward mode makes of a fixed one is another, too."""
    known = {(each.spec.kind, each.spec.key, each.evaluation.text) for each in after}
    return [each for each in before if (each.spec.kind, each.spec.key, each.evaluation.text) not in known]


def test_most_bugs_that_compile_are_found(model: Model) -> None:
    """Ratchet. A finding counts at a formula that was fixed, and if the fixed entry beside it does not have it."""
    bugs = [json.loads(line) for line in BUGS.read_text().splitlines()]
    pairs = [(bug["ref"], functions_of(model, bug["before"]), functions_of(model, bug["after"])) for bug in bugs]
    tried = [(ref, before, after) for ref, before, after in pairs if changed(before, after)]
    unit = Unit(model, [each for _, before, after in tried for each in (*before, *after)], ORDINARY)
    compiling = [
        (ref, before, after)
        for ref, before, after in tried
        if all(unit.numbers[id(each)] in unit.there for each in changed(before, after))
    ]
    wrong, resolved = ([[unit.numbers[id(each)] for each in pair[which]] for pair in compiling] for which in (1, 2))
    missed = []
    for (ref, before, after), found in zip(compiling, unit.found(wrong, resolved), strict=True):
        if not rules_against([unit.numbers[id(each)] for each in changed(before, after)], found, set()):
            missed.append((ref, before[0].spec.operator))
    assert len(compiling) >= 51
    assert missed == MISSED
