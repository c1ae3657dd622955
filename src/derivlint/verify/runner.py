"""A run: inputs recorded, formulas compiled or translated, and checks in processes of their own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from derivlint import __version__
from derivlint.compiler.children import ended_by_interrupt
from derivlint.emit.emission import Helpers
from derivlint.model import Model
from derivlint.verify.engine import EngineError, compiled
from derivlint.verify.errors import StoppedError, VerifyError
from derivlint.verify.functions import collect
from derivlint.verify.journal import Journal
from derivlint.verify.keeping import workplace
from derivlint.verify.outcome import Outcome
from derivlint.verify.process import IDLE, Server
from derivlint.verify.recordings import recorded
from derivlint.verify.unchecked import Why

#: The checks of an operator may use so many seconds of processor time.
PROCESSOR = 90.0
#: For as many operators the process that checks prepares its children.
MANY = 40
#: For so few operators as change at a time, each input is checked along several random directions.
FEW = 10
DIRECTIONS = 3

Progress = Callable[[str], None]


class Effort(Struct, frozen=True):
    """How much is done for each operator.

    Attributes:
        points: recorded inputs of each type of numbers.
        hardened: of how many of them harder inputs are made.
        variants: how many harder inputs of each.
        directions: random directions at each, where there are not so few operators that there is time for several.
        second: whether second derivatives are checked.
    """

    points: int
    hardened: int
    variants: int
    directions: int
    second: bool = True


QUICK = Effort(6, 2, 8, 1)
ORDINARY = Effort(10, 4, 20, 1)
THOROUGH = Effort(16, 6, 24, 2)


class Options(Struct, frozen=True):
    """What a run is to do.

    Attributes:
        effort: how much of it.
        dtypes: the types of numbers, ``float64`` and ``complex128``.
        seed: what random numbers depend on.
        jobs: children at a time.
        compiler: the C++ compiler.
        helpers: the user's own FunctionsManual.
        compiles: whether formulas are compiled; else they are translated to Python.
        resume: whether a run that was broken off is taken up.
    """

    effort: Effort = ORDINARY
    dtypes: tuple[str, ...] = ("float64", "complex128")
    seed: int = 0
    jobs: int = 2
    compiler: str | None = None
    helpers: Helpers | None = None
    compiles: bool = True
    resume: bool = True


def verify(
    model: Model, operators: Iterable[str] | None, options: Options, progress: Progress = lambda what: None
) -> Outcome:
    """Check the formulas of a model.

    Args:
        model: the model.
        operators: only entries of these operators, None for all.
        options: what to do.
        progress: called with how far it is.

    What cannot be checked is part of the outcome, also where that is everything.

    Raises:
        VerifyError: what the run needs is missing.
    """
    collected = collect(model, None if operators is None else set(operators))
    outcome = Outcome(collected, tuple(collected.functions))
    if collected.functions:
        try:
            with ended_by_interrupt(), workplace() as place:
                _verify(model, place, outcome, options, progress)
        except StoppedError as error:
            outcome.give_up(error.why, str(error))
    return outcome


def _verify(model: Model, place: Path, outcome: Outcome, options: Options, progress: Progress) -> None:
    collected = outcome.collected
    count = len({each.described.operator for each in collected.functions})
    # PyTorch is imported, and inputs are recorded, while the compiler runs
    with Server(many=count >= MANY) as server, ThreadPoolExecutor(max_workers=1) as pool:
        recording = pool.submit(lambda: {dtype: recorded(model, dtype, place, progress) for dtype in options.dtypes})
        engine = _engine(model, place, outcome, options, progress)
        samples = recording.result()
        if outcome.functions:
            effort = asdict(options.effort)
            if count <= FEW:
                effort["directions"] = max(DIRECTIONS, options.effort.directions)
            task = {
                **engine,
                **effort,
                "samples": {dtype: str(path) for dtype, path in samples.items()},
                "functions": [each.described.to_json() for each in outcome.functions],
                "seed": options.seed,
                "jobs": options.jobs,
                "processor": PROCESSOR,
                "idle": IDLE,
            }
            _work(server, task, place, outcome, options.resume, progress)


def _engine(model: Model, place: Path, outcome: Outcome, options: Options, progress: Progress) -> dict[str, Any]:
    """What the process that checks calls formulas with; they are recorded in the outcome."""
    functions = outcome.collected.functions
    if not options.compiles:
        from derivlint.verify.translation import interpreted

        translated = interpreted(model, functions)
        outcome.functions, outcome.left_out = translated.functions, translated.refused
        return {"formulas": [each.to_json() for each in translated.formulas]}
    try:
        made = compiled(model, functions, place, helpers=options.helpers, compiler=options.compiler, progress=progress)
    except EngineError as error:
        if error.is_missing:
            raise VerifyError(str(error)) from error
        raise StoppedError(Why.FAILED, f"the formulas cannot be compiled: {error}") from error
    outcome.functions, outcome.refused, outcome.left_out = made.functions, made.refused, made.uncallable
    return {"library": str(made.library), "place": str(place)}


def _work(
    server: Server, task: dict[str, Any], place: Path, outcome: Outcome, resume: bool, progress: Progress
) -> None:
    """Have all operators checked that a run which was broken off has left."""
    journal = Journal(place / _journal_name(task), resume=resume)
    outcome.take(journal.messages)
    done = journal.operators()
    total = len({each["operator"] for each in task["functions"]})
    left = [each for each in task["functions"] if each["operator"] not in done]
    try:
        for message in server.work({**task, "functions": left}) if left else ():
            journal.add(message)
            outcome.take([message])
            progress(f"checked {len(outcome.checked)} of {total} operators, {len(outcome.failures)} findings")
    except BaseException:
        journal.close()
        raise
    journal.finish()


def _journal_name(task: dict[str, Any]) -> str:
    """One file for each task."""
    content = {key: value for key, value in task.items() if key not in ("jobs", "processor", "idle")}
    digest = hashlib.sha256(json.dumps([__version__, content], sort_keys=True).encode()).hexdigest()[:16]
    return f"journal-{digest}.jsonl"
