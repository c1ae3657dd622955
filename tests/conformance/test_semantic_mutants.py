"""How many slips that compile and give a wrong gradient the rules see: ratchets, which may only rise."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from derivlint.analysis import analyses_of
from derivlint.lint import Confidence, Diagnostic, Severity, run_rules
from derivlint.model import Model, build_model
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.mutators.meaning import OPERATORS, SemanticMutant, mutants
from tests.sampling import CAMPAIGN

pytestmark = pytest.mark.long

#: The share of slips of each kind that get an error or a warning at the changed formula or its entry.
RATCHETS = {
    "gradient or tangent squared": 1.0,
    "gradient replaced by an input": 1.0,
    "gradient dropped": 1.0,
    # the forward formulas of _foreach_minimum and _foreach_maximum have a constant term as they are released
    "constant added to a tangent": 0.95,
    "primal for tangent": 0.95,
    "tangent for primal": 1.0,
    "conjugation dropped": 1.0,
    "gradient repeated": 1.0,
}
#: Those of a run without options.
RULES = Settings().selected(load_rules())
#: So many of each kind are tried.
SAMPLE = 40 if CAMPAIGN else 12


def reported(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> set[tuple[str | None, str, str]]:
    """The findings that a user sees, without their places."""
    return {
        (item.entry, item.rule, item.message)
        for item in diagnostics
        if item.severity is not Severity.INFO and item.confidence is Confidence.HIGH
    }


@pytest.fixture(scope="module")
def released(derivatives_path: Path, bundled_natives: NativeFunctions) -> Model:
    return build_model(SourceFile.read(derivatives_path), bundled_natives)


@pytest.fixture(scope="module")
def sample(released: Model) -> dict[str, list[SemanticMutant]]:
    """Some mutants of each kind, of at most one formula of an entry."""
    analyses = analyses_of(released)
    dice = random.Random(2013)
    found: dict[str, list[SemanticMutant]] = {name: [] for name in OPERATORS}
    for mutant in mutants([(entry, analyses.formulas(entry)) for entry in released.entries], dice):
        found[mutant.operator].append(mutant)
    return {name: dice.sample(items, min(SAMPLE, len(items))) for name, items in found.items()}


def changed(model: Model, mutant: SemanticMutant) -> str:
    """The entry alone, with the changed formula."""
    entry = model.entries[mutant.entry]
    formula = next(formula for formula in entry.formulas if formula.key_text == mutant.key)
    start, end = formula.value_span
    lines_start = model.source.text.rfind("\n", 0, entry.span.start) + 1
    stop = model.entries[mutant.entry + 1].span.start if mutant.entry + 1 < len(model.entries) else None
    quoted = "'" + mutant.text.replace("'", "''") + "'"
    text = model.source.text[lines_start:stop]
    return text[: start - lines_start] + quoted + text[end - lines_start :].rsplit("\n- ", 1)[0] + "\n"


@pytest.fixture(scope="module")
def known(released: Model) -> set[tuple[str | None, str, str]]:
    """What is found in the released file."""
    return reported(run_rules(released, RULES).diagnostics)


@pytest.mark.parametrize("operator", OPERATORS)
def test_slips_are_seen(
    operator: str,
    sample: dict[str, list[SemanticMutant]],
    released: Model,
    known: set[tuple[str | None, str, str]],
    bundled_natives: NativeFunctions,
) -> None:
    seen: Counter[bool] = Counter()
    missed = []
    for mutant in sample[operator]:
        result = run_rules(build_model(SourceFile("d.yaml", changed(released, mutant)), bundled_natives), RULES)
        assert result.internal_errors == 0
        new = reported(result.diagnostics) - known
        seen[bool(new)] += 1
        if not new:
            missed.append(f"{mutant.key}: {mutant.text}")
    assert seen[True] >= RATCHETS[operator] * seen.total(), missed
