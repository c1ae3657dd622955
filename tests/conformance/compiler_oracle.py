"""What g++ and what derivlint say of changed formulas, in one run of the compiler."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from derivlint.compiler.diagnostics import CompilerRefusal, refusals
from derivlint.compiler.gxx import find_toolchain
from derivlint.lint import Severity, run_rules
from derivlint.model import DerivativeFormula, build_model
from derivlint.model.generated.evaluation import Evaluation, evaluations
from derivlint.model.generated.typing import is_checkable
from derivlint.model.scope import visible_names
from derivlint.project.settings import Settings
from derivlint.rules import NAMES, load_rules
from derivlint.schema import NativeFunctions, load_index
from derivlint.source import SourceFile
from tests.conformance.oracle import definitions
from tests.mutators.entries import body, keys, to_yaml
from tests.mutators.formulas import OPERATORS, Mutant, mutate

#: The rules that say what a C++ compiler says.
CPP_RULES = frozenset(
    name
    for name in NAMES
    if name.startswith(("undefined-", "wrong-", "ambiguous-"))
    or name
    in (
        "uncompilable-variant",
        "incompatible-branches",
        "invalid-formula-syntax",
        "missing-symint",
        "optional-without-value",
        "superfluous-symint",
        "uncalled-function",
    )
) - {
    *("wrong-output-name", "wrong-output-differentiability-length", "ambiguous-key"),
    # these judge what compiles
    *("wrong-gradient", "wrong-tangent", "wrong-gradient-at-ties", "wrong-auto-linear", "wrong-auto-element-wise"),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two verdicts on a changed formula.

    Attributes:
        entry: the operator.
        key: the key of the formula.
        mutant: the changed formula.
        errors: what derivlint says.
        refusal: what the compiler says first, None where it accepts the formula.
    """

    entry: str
    key: str
    mutant: Mutant
    errors: tuple[str, ...]
    refusal: str | None

    @property
    def agrees(self) -> bool:
        """Whether both refuse or both accept; rules that judge more than C++ may refuse what compiles."""
        if self.refusal is not None:
            return bool(self.errors)
        return not any(error.endswith(f"[{rule}]") for error in self.errors for rule in CPP_RULES)

    def __str__(self) -> str:
        said = "; ".join(self.errors) or "nothing"
        return f"{self.entry}, {self.key}: {self.mutant.text} [{self.mutant.operator}]: {said} / {self.refusal}"


@cache
def operators() -> NativeFunctions:
    """The bundled operators, for a file of which everything is known."""
    natives = load_index()
    return natives.with_declarations(natives.declarations, complete=True)


def mutants(seed: int, count: int) -> list[tuple[dict[str, object], str, Mutant]]:
    """Entries with a key and a changed formula for it, the same for the same seed."""
    dice = random.Random(seed)
    names = sorted(OPERATORS)
    entries = definitions()
    found: list[tuple[dict[str, object], str, Mutant]] = []
    while len(found) < count:
        entry = dice.choice(entries)
        written = keys(entry)
        if not written:
            continue
        key = dice.choice(written)
        model = build_model(SourceFile("d.yaml", to_yaml(entry)), operators())
        variables = [
            name for formula in model.entries[0].formulas if formula.key_text == key for name in visible_names(formula)
        ]
        mutant = mutate(body(entry)[key], variables, names[len(found) % len(names)], dice)
        if mutant is not None:
            found.append((entry, key, mutant))
    return found


def _is_changed(formula: DerivativeFormula, mutant: Mutant) -> bool:
    """Whether a line is the changed one, or made of it."""
    return formula.text == mutant.text or formula.auto is not None


def judge(
    changed: Sequence[tuple[dict[str, object], str, Mutant]], released: Sequence[Evaluation] = ()
) -> tuple[list[Verdict], list[CompilerRefusal]]:
    """Compile formulas that are changed and expressions that are not, in the same units.

    Returns:
        Both verdicts on the changed formulas without those that are not C++ for derivlint's parser, and what the
        compiler refuses of the other expressions.
    """
    rules = Settings().selected(load_rules())
    asked: list[Evaluation] = []
    owners: list[int] = []
    errors: list[tuple[str, ...]] = []
    for number, (entry, key, mutant) in enumerate(changed):
        written = copy.deepcopy(entry)
        body(written)[key] = mutant.text
        model = build_model(SourceFile("d.yaml", to_yaml(written)), operators())
        found = run_rules(model, rules).diagnostics
        errors.append(tuple(f"{item.message} [{item.rule}]" for item in found if item.severity is Severity.ERROR))
        for each in model.entries:
            for evaluation in evaluations(each, model.differentiabilities(each)):
                if _is_changed(evaluation.written, mutant) and is_checkable(evaluation.written):
                    asked.append(evaluation)
                    owners.append(number)
    by_identity = {id(evaluation): owner for evaluation, owner in zip(asked, owners, strict=True)}
    refused: dict[int, str] = {}
    refused_releases = []
    for refusal in refusals(find_toolchain(), [*asked, *released]):
        owner = by_identity.get(id(refusal.evaluation))
        if owner is None:
            refused_releases.append(refusal)
        else:
            refused.setdefault(owner, refusal.message)
    judged = {owner for owner, evaluation in zip(owners, asked, strict=True) if evaluation.written.auto is None}
    verdicts = [
        Verdict(str(entry["name"]).partition("(")[0], key, mutant, errors[number], refused.get(number))
        for number, (entry, key, mutant) in enumerate(changed)
        if number in judged
    ]
    return verdicts, refused_releases
