"""The type checker agrees with g++, which is asked here: about every formula of the release, and about changed ones."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest

from derivlint.compiler.gxx import find_toolchain
from derivlint.compiler.judge import refusals
from derivlint.cpp.problem import ACCEPTED
from derivlint.lint import run_rules
from derivlint.model import build_model
from derivlint.model.generated.evaluation import evaluations
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.conformance.compiler_oracle import judge, mutants, operators
from tests.conformance.mutators import body, to_yaml

pytestmark = pytest.mark.long

SEED = 20261121
COUNT = 280
#: Of a hundred changed formulas, how many may be judged otherwise than by g++; measured on thousands, it is below one.
PERCENT = 2


def test_every_expression_of_the_release_compiles_where_it_is_said_to_be_evaluated(
    derivatives_path: Path, bundled_natives: NativeFunctions
) -> None:
    """The compiler knows every variable, finds every type right and accepts every result."""
    model = build_model(SourceFile.read(derivatives_path), bundled_natives)
    found = [
        evaluation for entry in model.entries for evaluation in evaluations(entry, model.differentiabilities(entry))
    ]
    assert len(found) > 1_800
    refused = refusals(find_toolchain(), found)
    assert [f"{item.evaluation.function.name}: {item.evaluation.text}: {item.message}" for item in refused] == []
    assert [
        item for entry in model.entries for item in model.type_problems(entry) if item.problem.kind not in ACCEPTED
    ] == []


def test_changed_formulas_are_judged_as_the_compiler_judges_them() -> None:
    verdicts = judge(mutants(SEED, COUNT))
    assert len(verdicts) > COUNT * 0.9
    refused = sum(verdict.refusal is not None for verdict in verdicts)
    assert 0.5 * len(verdicts) < refused < 0.95 * len(verdicts)
    different = [str(verdict) for verdict in verdicts if not verdict.agrees]
    assert len(different) <= PERCENT * len(verdicts) / 100, different


#: Pieces of C++ that end up in wrong places.
PIECES = (
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "::",
    ".",
    "->",
    ".*",
    '"',
    ",",
    "?",
    ":",
    "[",
    "]",
    "std::",
    "&",
    "*",
    "T<",
    "#",
    "é",
)


def test_whatever_stands_in_a_formula_no_rule_crashes() -> None:
    dice = random.Random(SEED)
    rules = load_rules()
    crashes = []
    for entry, key, mutant in mutants(SEED + 1, 500):
        text = mutant.text
        for _ in range(dice.randrange(3)):
            at = dice.randrange(len(text) + 1)
            text = text[:at] + dice.choice(PIECES) + text[at + dice.randrange(2) :]
        changed = copy.deepcopy(entry)
        body(changed)[key] = text
        result = run_rules(build_model(SourceFile("d.yaml", to_yaml(changed)), operators()), rules)
        crashes += [text for _ in range(result.internal_errors)]
    assert crashes == []
