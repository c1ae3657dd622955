"""Where rules and numbers disagree about formulas changed at random: what to tune rules by.

    python -m tests.verify.gate [--seed 5] [--count 200] [--thorough]

Of each changed formula it says what was done to it, whether it gives other numbers, and what either side says of it.
Needs the extra ``dev`` and a C++ compiler.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence

from derivlint.lint import Confidence, Rule, Severity, run_rules
from derivlint.model import Model, build_model
from derivlint.rules import load_rules
from derivlint.schema import read_native_functions
from derivlint.source import SourceFile
from derivlint.verify.code.functions import collect
from derivlint.verify.runner import ORDINARY, QUICK, Effort
from tests.conftest import packaged_folder
from tests.verify.campaign import Campaign, campaign
from tests.verify.mutants import Mutant, entry_text, mutants


def semantic_rules() -> tuple[Rule, ...]:
    """The rules that reckon with what formulas compute: those whose modules use what is known of their meaning."""
    return tuple(
        rule
        for rule in load_rules()
        if any(
            getattr(used, "__module__", "").startswith("derivlint.analysis")
            for used in vars(sys.modules[rule.check.__module__]).values()
        )
    )


def by_rules(model: Model, tried: Sequence[Mutant], rules: tuple[Rule, ...]) -> list[set[str]]:
    """What rules say of each changed formula that they do not say of the formula as it was."""
    return [_reported(model, each, each.after, rules) - _reported(model, each, each.before, rules) for each in tried]


def by_numbers(model: Model, seed: int, count: int, effort: Effort) -> Campaign:
    """What numbers say of formulas changed at random."""
    functions = collect(model).functions
    return campaign(model, functions, mutants(model, functions, seed, count), effort)


def _reported(model: Model, mutant: Mutant, formula: str, rules: tuple[Rule, ...]) -> set[str]:
    """The rules whose errors and warnings a user sees for the entry with a formula."""
    entry = SourceFile("derivatives.yaml", entry_text(model, mutant.original.written, formula))
    found = run_rules(build_model(entry, model.natives), rules).diagnostics
    return {item.rule for item in found if item.severity is not Severity.INFO and item.confidence is Confidence.HIGH}


def report(numeric: Campaign, static: Sequence[Collection[str]]) -> str:
    """The changed formulas by who speaks of them; where both or none do, only how many."""
    indices = range(len(numeric.tried))
    found, changing = numeric.found, numeric.changing
    groups = {
        "rules alone, though the numbers are the same": [i for i in indices if static[i] and i not in found | changing],
        "rules alone, where numbers miss another value": [i for i in indices if static[i] and i in changing - found],
        "neither, though the value is another": [i for i in indices if not static[i] and i in changing - found],
        "numbers alone": [i for i in indices if not static[i] and i in found],
    }
    both = sum(1 for i in indices if static[i] and i in found)
    lines = [f"{len(indices)} changed formulas, {len(changing)} of other values"]
    lines += [f"numbers find {len(found)}, rules {sum(map(bool, static))}, both {both}"]
    for title, members in groups.items():
        lines += ["", f"{title}: {len(members)}"]
        for index in members:
            mutant = numeric.tried[index]
            where = f"{mutant.original.spec.operator}, {mutant.original.spec.key} ({mutant.kind})"
            said = ", ".join(sorted({*static[index], *numeric.detected[index]})) or "nothing"
            lines += [f"  {where}: {said}", f"    - {mutant.before}", f"    + {mutant.after}"]
    return "\n".join(lines)


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument(
        "--thorough", action="store_true", help="as many inputs as derivlint verify takes without --quick"
    )
    arguments = parser.parse_args()
    native, autograd = packaged_folder() / "ATen" / "native", packaged_folder() / "autograd"
    functions, tags = SourceFile.read(native / "native_functions.yaml"), SourceFile.read(native / "tags.yaml")
    model = build_model(SourceFile.read(autograd / "derivatives.yaml"), read_native_functions([functions], tags=tags))
    numeric = by_numbers(model, arguments.seed, arguments.count, ORDINARY if arguments.thorough else QUICK)
    print(report(numeric, by_rules(model, numeric.tried, semantic_rules())))


if __name__ == "__main__":
    main()
