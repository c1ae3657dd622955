"""Changed formulas compiled in one unit, and checked among the other formulas of their entries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import asdict, replace

from derivlint.model import Model
from derivlint.verify.code.engine import compiled
from derivlint.verify.code.functions import FormulaFunction, FunctionSpec
from derivlint.verify.comparison.failures import CRASH, INCONSISTENT, OTHER_CONVENTION
from derivlint.verify.comparison.verdicts import FindingVerdict
from derivlint.verify.outcome import RunOutcome
from derivlint.verify.processes.process import IDLE, Server
from derivlint.verify.processes.recordings import recorded
from derivlint.verify.processes.workdir import work_folder
from derivlint.verify.runner import PROCESSOR, Effort
from tests.verify.mutants import Mutant

#: Lines of the file that a formula has to itself, so that messages of the compiler find it.
_LINES = 1000
_DTYPES = ("float64", "complex128")

#: The function that a rule found something wrong with, by its number, and the rule.
Found = set[tuple[int, str]]


class Unit:
    """Functions of formulas, compiled together whatever entries they are of.

    Args:
        model: the file that they belong to.
        functions: the functions; those of one operator can be many.
        effort: how much is done for each operator.
        dtypes: the types of numbers.
        jobs: children at a time.

    Attributes:
        numbers: the number of each function in the unit, by its identity.
        described: what is known of each, by its number.
        there: the numbers of those that compile.
        compared: the numbers of those whose derivative was compared with another one, and is not always zero.
        task: what the process that checks receives.
    """

    def __init__(
        self,
        model: Model,
        functions: Sequence[FormulaFunction],
        effort: Effort,
        dtypes: Sequence[str] = _DTYPES,
        jobs: int = 1,
    ) -> None:
        numbered = [_numbered(each, number) for number, each in enumerate(functions)]
        self._stack = ExitStack()
        place = self._stack.enter_context(work_folder())
        made = compiled(model, numbered, place)
        self.numbers = {id(each): number for number, each in enumerate(functions)}
        self.spec = [each.spec for each in numbered]
        self.there = {each.spec.number for each in made.functions}
        self.compared: set[int] = set()
        operators = {function.spec.operator for function in numbered}
        samples = recorded(operators, dtypes, str(model.natives.version), place, lambda what: None)
        self.task = {
            "libraries": [str(made.library)],
            "place": str(place),
            **asdict(effort),
            "samples": {dtype: str(path) for dtype, path in samples.items()},
            "seed": 0,
            "precision": False,
            "device": "cpu",
            "jobs": jobs,
            "processor": PROCESSOR,
            "idle": IDLE,
        }

    def found(self, entries: Sequence[Sequence[int]], base: Sequence[Sequence[int]] | None = None) -> list[Found]:
        """What is found in entries; entries of an operator can be many.

        Args:
            entries: each entry by the numbers of its functions.
            base: each entry in an earlier version; what is found there as well is left out.
        """
        result: list[Found] = [set() for _ in entries]
        for batch in self._batches(entries):
            places = {self.spec[entries[index][0]].operator: index for index in batch}
            earlier = None if base is None else {name: base[index] for name, index in places.items()}
            outcome = self._checked([number for index in batch for number in entries[index]], earlier)
            for failure in outcome.failures:
                if failure["verdict"] not in ("", FindingVerdict.NEW.value):
                    continue
                operator = self.spec[failure["failure"]].operator
                result[places[operator]].add((failure["failure"], failure["rule"]))
            self.compared.update(number for state in outcome.checked.values() for number in state.nonzero)
            for death in outcome.deaths:
                result[places[death["died"]]].add((death["function"], CRASH))
        return result

    def _batches(self, entries: Sequence[Sequence[int]]) -> list[list[int]]:
        """The fewest lists of entries in which no operator is twice."""
        batches: list[list[int]] = []
        seen: dict[str, int] = {}
        for index, numbers in enumerate(entries):
            operator = self.spec[numbers[0]].operator
            place = seen[operator] = seen.get(operator, -1) + 1
            if place == len(batches):
                batches.append([])
            batches[place].append(index)
        return batches

    def _checked(self, numbers: Sequence[int], base: Mapping[str, Sequence[int]] | None) -> RunOutcome:
        outcome = RunOutcome(None)  # type: ignore[arg-type]  # only messages are taken
        functions = [self.spec[number].to_json() for number in numbers if number in self.there]
        earlier = None
        if base is not None:
            earlier = {
                name: [self.spec[each].to_json() for each in own if each in self.there] for name, own in base.items()
            }
        with Server() as server:
            outcome.take(server.work({**self.task, "functions": functions, "base": earlier}))
        return outcome

    def differing(self, pairs: Sequence[tuple[int, int]]) -> set[int]:
        """The positions of the pairs of functions that do not give the same at all inputs."""
        content = {
            "task": self.task,
            "pairs": [
                (index, self.spec[one].to_json(), self.spec[other].to_json())
                for index, (one, other) in enumerate(pairs)
            ],
        }
        path = Path(self.task["libraries"][0]).with_suffix(".pairs.json")
        path.write_text(json.dumps(content))
        done = subprocess.run(
            [sys.executable, "-m", "tests.verify.values", str(path)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=Path(__file__).parents[2],
            check=True,
        )
        return set(json.loads(done.stdout.splitlines()[-1]))


@dataclass(slots=True)
class Campaign:
    """What became of changed formulas.

    Attributes:
        tried: those that compile.
        detected: for each of them the rules that found it.
        changing: those whose value is another one at some input.
    """

    tried: list[Mutant] = field(default_factory=list)
    detected: list[set[str]] = field(default_factory=list)
    changing: set[int] = field(default_factory=set)

    @property
    def found(self) -> set[int]:
        """Those that were found."""
        return {index for index, rules in enumerate(self.detected) if rules}

    def rates(self) -> tuple[float, float]:
        """The parts that were found of all, and of those that change a value."""
        changing = self.changing or {0}
        return len(self.found) / max(len(self.tried), 1), len(self.found & changing) / len(changing)


def campaign(
    model: Model,
    functions: Sequence[FormulaFunction],
    drawn: Sequence[Mutant],
    effort: Effort,
    dtypes: Sequence[str] = _DTYPES,
    jobs: int = 1,
) -> Campaign:
    """Compile and check changed formulas, each among the other formulas of its entry.

    A change says nothing if something is found in the formula as written, or if nothing can be compared with its
    derivative: it is left out.
    """
    of_operator: dict[str, list[FormulaFunction]] = {}
    for each in functions:
        of_operator.setdefault(each.spec.operator, []).append(each)
    wanted = sorted({mutant.original.spec.operator for mutant in drawn})
    originals = [each for name in wanted for each in of_operator[name]]
    unit = Unit(model, [*originals, *(mutant.function for mutant in drawn)], effort, dtypes, jobs)
    as_it_stands = unit.found([[unit.numbers[id(each)] for each in of_operator[name]] for name in wanted])
    known = set().union(*as_it_stands)
    judged = unit.compared - {number for number, _ in known}
    result = Campaign()
    entries, pairs = [], []
    for mutant in drawn:
        own, original = unit.numbers[id(mutant.function)], unit.numbers[id(mutant.original)]
        if own not in unit.there or original not in judged:
            continue
        siblings = [unit.numbers[id(each)] for each in of_operator[mutant.original.spec.operator]]
        entries.append([own if number == original else number for number in siblings])
        pairs.append((original, own))
        result.tried.append(mutant)
    for found, (_, own) in zip(unit.found(entries), pairs, strict=True):
        rules = rules_against([own], found, known)
        # that the installed PyTorch has another formula says nothing about a changed one
        result.detected.append(rules - {OTHER_CONVENTION})
    result.changing = unit.differing(pairs)
    return result


def rules_against(changed: Iterable[int], found: Found, known: Found) -> set[str]:
    """The rules that found changed formulas: what is found in another formula is none of them.

    That formulas of an entry contradict each other is reported at the forward formula, whichever was changed.
    """
    own = set(changed)
    return {rule for number, rule in found - known if number in own or rule == INCONSISTENT}


def _numbered(function: FormulaFunction, number: int) -> FormulaFunction:
    spec: FunctionSpec = replace(function.spec, number=number, line=(number + 1) * _LINES)
    return replace(function, spec=spec)
