"""Verdicts on mutated entries: what torchgen refuses is an error here, judged on mutants made afresh in this process.

A slip is put into one entry of the installed derivatives.yaml; the other entries stay as they are. Many entries are
mutated in one file, at most one of each family of operators, so that their verdicts do not mix.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass

import pytest

from derivlint.lint import Diagnostic, Severity
from derivlint.lint.engine.incremental import CheckedText, check_text
from derivlint.lint.engine.run import SUPPRESSIONS
from derivlint.model import build_models
from derivlint.model.memos import Memos
from derivlint.project.settings import Settings
from derivlint.rules import load_rules
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile
from tests.conformance.oracle import Oracle, Refusal, definitions
from tests.mutators.entries import MUTATORS, to_yaml
from tests.sampling import CAMPAIGN

pytestmark = pytest.mark.long

SEED = 20260613
PER_MUTATOR = 12 if CAMPAIGN else 3


@dataclass(frozen=True)
class Mutant:
    """One mutated entry with torchgen's verdict."""

    mutator: str
    index: int
    text: str
    refusal: Refusal | None


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle()


@pytest.fixture(scope="module")
def mutants(oracle: Oracle) -> list[Mutant]:
    """Mutants of every kind, of randomly chosen entries."""
    rng = random.Random(SEED)
    entries = definitions()
    found = []
    for name, mutate in MUTATORS.items():
        count = 0
        for index in rng.sample(range(len(entries)), len(entries)):
            mutated = mutate(entries[index], rng)
            if mutated is not None and mutated != entries[index]:
                text = to_yaml(mutated)
                found.append(Mutant(name, index, text, oracle.refusal(index, text)))
                count += 1
                if count == PER_MUTATOR:
                    break
    return found


def batches(mutants: list[Mutant], families: list[str]) -> list[list[Mutant]]:
    """The mutants in groups of which no two touch the same family of operators."""
    groups: list[tuple[set[str], list[Mutant]]] = []
    for mutant in mutants:
        operator = mutant.text.split('"')[1].partition("(")[0].partition(".")[0]
        touched = {families[mutant.index], operator.strip("_")}
        for seen, group in groups:
            if not seen & touched:
                seen |= touched
                group.append(mutant)
                break
        else:
            groups.append((set(touched), [mutant]))
    return [group for _, group in groups]


@pytest.fixture(scope="module")
def errors(oracle: Oracle, mutants: list[Mutant], installed_natives: NativeFunctions) -> dict[Mutant, list[Diagnostic]]:
    """The errors that each mutant gets, apart from those of the file's other entries.

    Each file is checked after the one without mutants, as after an edit.
    """
    texts = [to_yaml(entry) for entry in definitions()]
    rules = [rule for rule in Settings().selected(load_rules()) if rule.target != SUPPRESSIONS]

    memos = Memos()

    def checked(text: str) -> CheckedText:
        (model,) = build_models(SourceFile("derivatives.yaml", text), installed_natives, memos=memos)
        found = check_text(model, rules)
        model.end_revision()
        return found

    def judged(group: list[Mutant]) -> dict[Mutant, list[Diagnostic]]:
        replaced = {mutant.index: mutant.text for mutant in group}
        found = checked("".join(replaced.get(index, text) for index, text in enumerate(texts)))
        errors = [item for item in found.result.diagnostics if item.severity is Severity.ERROR]
        by_index = defaultdict(list)
        missing = [item for item in errors if item.rule == "missing-foreach-reference"]
        for diagnostic in errors:
            if diagnostic.rule != "missing-foreach-reference":
                entry = next((item for item in found.model.entries if item.span.contains(diagnostic.span)), None)
                by_index[entry.index if entry is not None else -1].append(diagnostic)
        return {
            mutant: by_index[mutant.index]
            + [item for item in missing if f"_foreach_{oracle.families[mutant.index]}" in item.message]
            for mutant in group
        }

    checked("".join(texts))
    by_mutant: dict[Mutant, list[Diagnostic]] = {}
    for group in batches(mutants, oracle.families):
        by_mutant |= judged(group)
    # an unknown key anywhere in a file may explain that an entry has no name: that entry is judged again without it
    for mutant in [mutant for mutant, found in by_mutant.items() if mutant.refusal is not None and not found]:
        by_mutant |= judged([mutant])
    return by_mutant


def test_there_are_enough_mutants(mutants: list[Mutant]) -> None:
    """The sample holds slips of every kind; torchgen refuses a good part of them."""
    assert len(mutants) > 29 * PER_MUTATOR
    assert sum(mutant.refusal is not None for mutant in mutants) > 16 * PER_MUTATOR


def test_what_torchgen_refuses_is_an_error(errors: dict[Mutant, list[Diagnostic]]) -> None:
    missed = [
        f"{mutant.mutator}: {mutant.refusal.where}: {mutant.refusal.message}\n{mutant.text}"
        for mutant, found in errors.items()
        if mutant.refusal is not None and not found
    ]
    assert missed == [], f"{len(missed)} missed:\n" + "\n".join(missed[:10])


def test_one_slip_gives_few_diagnostics(errors: dict[Mutant, list[Diagnostic]]) -> None:
    """A slip is one finding, unless it really breaks several things; on average hardly more than one."""
    counts = [len(found) for found in errors.values() if found]
    assert sum(counts) / len(counts) < 1.25
