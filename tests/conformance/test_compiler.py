"""The type checker agrees with g++, which is asked here: about every formula of the release, and about changed ones."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest

from derivlint.cpp.problem import ACCEPTED
from derivlint.lint import run_rules
from derivlint.model import build_model
from derivlint.model.generated.evaluation import evaluations
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.conformance.compiler_oracle import judge, mutants, operators
from tests.mutators.entries import body, keys, to_yaml
from tests.sampling import CAMPAIGN, sample

pytestmark = pytest.mark.long

SEED = 20261121
#: How many formulas are changed, and how many expressions of the release are compiled.
COUNT, EXPRESSIONS = (280, 10_000) if CAMPAIGN else (80, 120)
#: Of a hundred changed formulas, how many may be judged otherwise than by g++; measured on thousands, it is below one.
PERCENT = 2


@pytest.mark.usefixtures("precompiled_headers")
def test_formulas_are_judged_as_the_compiler_judges_them(
    derivatives_path: Path, bundled_natives: NativeFunctions
) -> None:
    """Expressions of the release compile where they are said to be evaluated; of changed ones, the same are wrong."""
    model = build_model(SourceFile.read(derivatives_path), bundled_natives)
    expressions = [item for entry in model.entries for item in evaluations(entry, model.differentiabilities(entry))]
    assert len(expressions) > 1_800
    changed = mutants(SEED, COUNT)
    if not CAMPAIGN:
        # each direction is a source of its own, whose headers take as long as hundreds of formulas
        changed = [item for item in changed if item[1] in keys(item[0], backward=True)]
    verdicts, refusals = judge(changed, sample(expressions, EXPRESSIONS))
    assert [f"{item.evaluation.function.name}: {item.evaluation.text}: {item.message}" for item in refusals] == []
    assert [
        item for entry in model.entries for item in model.type_problems(entry) if item.problem.kind not in ACCEPTED
    ] == []
    assert len(verdicts) > len(changed) * 0.9 > COUNT * 0.5
    refused = sum(verdict.refusal is not None for verdict in verdicts)
    assert 0.5 * len(verdicts) < refused < 0.95 * len(verdicts)
    different = [str(verdict) for verdict in verdicts if not verdict.agrees]
    assert len(different) <= PERCENT * len(verdicts) / 100, different


#: Pieces of C++ that end up in wrong places.
PIECES = (*'(){}<>.",?:[]&*#é', "::", "->", ".*", "std::", "T<")


def test_whatever_stands_in_a_formula_no_rule_crashes() -> None:
    dice = random.Random(SEED)
    rules = load_rules()
    crashes = []
    for entry, key, mutant in mutants(SEED + 1, 500 if CAMPAIGN else 80):
        text = mutant.text
        for _ in range(dice.randrange(3)):
            at = dice.randrange(len(text) + 1)
            text = text[:at] + dice.choice(PIECES) + text[at + dice.randrange(2) :]
        changed = copy.deepcopy(entry)
        body(changed)[key] = text
        result = run_rules(build_model(SourceFile("d.yaml", to_yaml(changed)), operators()), rules)
        crashes += [text for _ in range(result.internal_errors)]
    assert crashes == []
