"""Checks one operator of a derivatives file at one input, for the scripts of findings (``--scripts``)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from derivlint.lint import Diagnostic
from derivlint.model import Model
from derivlint.project.loading import load_source
from derivlint.project.operators import INSTALLED
from derivlint.project.settings import Settings
from derivlint.runtime.load import load_library
from derivlint.source import SourceError, SourceFile, visible_page
from derivlint.verify.base import Base, functions_of_base
from derivlint.verify.code.functions import FunctionSpec, collect
from derivlint.verify.code.interpreter import InterpretedFunctions
from derivlint.verify.comparison.checks import OperatorChecker
from derivlint.verify.comparison.failures import Failure
from derivlint.verify.comparison.verdicts import FindingVerdict, Referee
from derivlint.verify.inputs.points import SamplePoint
from derivlint.verify.outcome import RunOutcome
from derivlint.verify.processes.workdir import work_folder
from derivlint.verify.reproduction import REPLAYED
from derivlint.verify.runner import RunOptions, engine_of

_SCRIPT = """\
# {operator}, {key}: {rule}, {file}:{line}. {mark}
#   python {name} [DERIVATIVES.yaml]
# It exits with 1 while the formula is wrong there, and with 0 when it is right. By default it reads the file that was
# checked, and where that is gone, the entry below.

import sys
from math import inf, nan

import torch

from derivlint.verify.replay import ReplayedFinding, replay

FILE = sys.argv[1] if len(sys.argv) > 1 else {path!r}
#: {message}
ENTRY = {entry}
#: The entry before, which is right there; None where it was compared with nothing.
BEFORE = {before}

{lines}

finding = ReplayedFinding(
    {operator!r}, {key!r}, {rule!r}, {function!r},
    number={number}, seed={seed}, order={order}, directions={directions}, is_meant={is_meant}, compiles={compiles},
)
sys.exit(replay(finding, arguments, FILE, ENTRY, BEFORE))
"""


class ReplayedFinding(Struct, frozen=True):
    """A finding with the parameters of its random numbers.

    Attributes:
        entry: the operator of the entry.
        key: the key of the formula.
        rule: the violated rule.
        operator: the called operator, possibly a foreach operator that shares the formula.
        number: the index of the input.
        seed: the random seed.
        order: the highest checked order of derivatives.
        directions: the number of random directions.
        is_meant: whether the operator is documented to accept the input.
        compiles: whether formulas are compiled; else they are translated to Python.
    """

    entry: str
    key: str
    rule: str
    operator: str
    number: int
    seed: int = 0
    order: int = 2
    directions: int = 1
    is_meant: bool = False
    compiles: bool = True


def script_of(
    diagnostic: Diagnostic, failure: dict[str, Any], model: Model, before: Model | None, name: str, task: RunOptions
) -> str:
    """The script of a finding.

    Args:
        diagnostic: the finding.
        failure: the message about it.
        model: the file.
        before: the earlier version of the file.
        name: the name of the script.
        task: the options of the run.
    """
    entry = diagnostic.entry or ""
    source = model.source
    return _SCRIPT.format(
        operator=entry,
        key=diagnostic.key,
        rule=diagnostic.rule,
        file=Path(source.path).name,
        line=source.position(diagnostic.span.start).line,
        mark=REPLAYED,
        name=name,
        path=str(Path(source.path).resolve()),
        message=" ".join(diagnostic.message.split()),
        entry=_literal(entry_text(model, entry)),
        before="None" if before is None else _literal(entry_text(before, entry)),
        lines=failure["arguments"],
        function=failure["operator"],
        number=failure["number"],
        seed=task.seed,
        order=task.effort.order,
        directions=failure["turn"] + 1,
        is_meant=failure["is_meant"],
        compiles=task.compiles,
    )


def entry_text(model: Model, operator: str) -> str:
    """The entry of an operator as written; empty if there is none."""
    spans = [entry.span for entry in model.entries if entry.operator == operator]
    return "".join(f"- {model.source.text[span.start : span.end].rstrip()}\n" for span in spans)


def _literal(text: str) -> str:
    lines = "".join(f"    {line!r}\n" for line in text.splitlines(keepends=True))
    return f"(\n{lines})" if lines else "''"


def replay(finding: ReplayedFinding, arguments: Sequence[Any], path: str, entry: str, before: str | None) -> int:
    """Check the formulas of an operator at one input, and print the failures.

    Args:
        finding: the finding to reproduce.
        arguments: the input.
        path: the derivatives file.
        entry: the entry, in case the file is missing.
        before: the earlier version of the entry, or None.

    Returns:
        1 if the finding is reproduced, 0 if it is not, and 2 if it cannot be checked.
    """
    try:
        source = SourceFile.read(path) if Path(path).is_file() else SourceFile("derivatives.yaml", entry)
        failures = list(_failures(finding, arguments, source, before))
    except (SourceError, ReplayError) as error:
        print(visible_page(str(error)), file=sys.stderr)
        return 2
    for failure in failures:
        numbers = f"{failure.actual!r}, by the other way to compute it {failure.expected!r}"
        print(visible_page(f"{finding.entry}, {finding.key}: {finding.rule}: {failure.message or numbers}"))
    return int(bool(failures))


class ReplayError(Exception):
    """The formulas cannot be checked; the message is for the user."""


def _failures(
    finding: ReplayedFinding, arguments: Sequence[Any], source: SourceFile, before: str | None
) -> list[Failure]:
    loaded = load_source(source, None, Settings().overridden(torch=INSTALLED))
    model = loaded.model
    collected = collect(model, {finding.operator})
    if not collected.functions:
        raise ReplayError(f'{source.path} has no formula of "{finding.operator}"')
    base = None
    if before is not None:
        base = Base(load_source(SourceFile("before.yaml", before), None, loaded.settings).model, "before")
    options = RunOptions(compiles=finding.compiles)
    outcome = RunOutcome(collected, tuple(collected.functions))
    earlier = None if base is None else functions_of_base(collected.functions, base, None)
    versions = () if earlier is None else earlier.operators.get(finding.operator, ())
    with work_folder() as place:
        engine = engine_of(model, place, outcome, options, lambda message: None, base, earlier)
        own = [function.spec for function in outcome.functions]
        namespace = _loaded(engine, [*own, *versions])
    if outcome.refused:
        return [Failure(number, finding.rule, "", message=message) for number, message in outcome.refused.items()]

    def checker(functions: Sequence[FunctionSpec]) -> OperatorChecker:
        return OperatorChecker(
            functions, namespace, finding.seed, order=finding.order, directions=finding.directions, complete=True
        )

    point = SamplePoint(list(arguments), "replay", finding.is_meant)
    if versions:
        judged = Referee(own, versions, checker(own), checker(versions)).check(point, finding.number)
        failures = [failure for failure, verdict in judged if verdict is FindingVerdict.NEW]
    else:
        failures = list(checker(own).check(point, finding.number))
    keys = {spec.number: spec.key for spec in own}
    return [
        failure for failure in failures if failure.rule == finding.rule and keys.get(failure.function) == finding.key
    ]


def _loaded(engine: dict[str, Any], functions: Sequence[FunctionSpec]) -> Any:
    """Load compiled or translated formulas, and return the namespace with their functions."""
    import torch

    if "formulas" in engine:
        return InterpretedFunctions(engine["formulas"], functions)
    for library in engine["libraries"]:
        problem = load_library(Path(library))
        if problem:
            raise ReplayError(problem)
    return torch.ops.derivlint_verify
