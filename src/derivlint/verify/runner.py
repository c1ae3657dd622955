"""A run: records inputs, compiles or translates formulas, and checks them in separate processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from derivlint.compiler.children import ended_by_interrupt
from derivlint.emit.emission import Helpers
from derivlint.lint.wording import counted
from derivlint.model import Model
from derivlint.verify.base import Base, BaseFunctions, functions_of_base, is_unchanged
from derivlint.verify.code.engine import CompiledFunctions, EngineError, compiled
from derivlint.verify.code.functions import FormulaFunction, collect
from derivlint.verify.comparison.verdicts import FindingVerdict
from derivlint.verify.inputs.points import CPU
from derivlint.verify.newer import needs_newer, operator_since
from derivlint.verify.outcome import RunOutcome
from derivlint.verify.processes.process import IDLE, Server
from derivlint.verify.processes.recordings import recorded
from derivlint.verify.processes.workdir import Journal, work_folder
from derivlint.verify.unchecked import SkipReason, StoppedError, VerifyError
from derivlint.version import __version__

#: The processor time limit per operator, in seconds.
PROCESSOR = 90.0
#: The maximum number of entries, as in an edit, that are checked along several random directions, and their number.
MAX_EDITED = 10
DIRECTIONS = 3

Progress = Callable[[str], None]


class Effort(Struct, frozen=True):
    """The effort for each operator.

    Attributes:
        points: the number of recorded inputs of each dtype.
        hardened: the number of them with harder variants.
        variants: the number of harder variants of each.
        special: the number of special inputs (:mod:`derivlint.verify.inputs.regimes`).
        directions: the number of random directions at each; more for few operators.
        order: the highest checked order of derivatives.
    """

    points: int
    hardened: int
    variants: int
    special: int
    directions: int
    order: int = 2


QUICK = Effort(4, 2, 3, 20, 1)
ORDINARY = Effort(10, 4, 20, 110, 1)
THOROUGH = Effort(16, 6, 24, 200, 2)


class RunOptions(Struct, frozen=True):
    """The options of a run.

    Attributes:
        effort: the number of inputs and directions.
        dtypes: the dtypes, ``float64`` and ``complex128``.
        seed: the random seed.
        jobs: the number of parallel children.
        compiler: the C++ compiler.
        helpers: the user's own FunctionsManual.
        compiles: whether formulas are compiled; else they are translated to Python.
        precision: whether to measure the precision of formulas instead of checking them.
        device: the device type: ``cpu``, ``cuda`` or ``mps``.
        resume: whether to resume an interrupted run.
    """

    effort: Effort = ORDINARY
    dtypes: tuple[str, ...] = ("float64", "complex128")
    seed: int = 0
    jobs: int = 2
    compiler: str | None = None
    helpers: Helpers | None = None
    compiles: bool = True
    precision: bool = False
    device: str = CPU
    resume: bool = True


def verify(
    model: Model,
    operators: Iterable[str] | None,
    options: RunOptions,
    progress: Progress = lambda message: None,
    base: Base | None = None,
) -> RunOutcome:
    """Check the formulas of a model.

    Args:
        model: the model.
        operators: only entries of these operators, None for all.
        options: the options.
        progress: called with the progress.
        base: the earlier version of the file, or None.

    Unchecked entries are part of the outcome, even if nothing was checked, and also after Ctrl-C once something was
    checked.

    Raises:
        VerifyError: a requirement of the run is missing.
    """
    progress("reading formulas")
    collected = collect(model, None if operators is None else set(operators))
    outcome = RunOutcome(collected, tuple(collected.functions), base=None if base is None else {})
    for name in collected.unknown:
        since = operator_since(name, model.natives)
        outcome.newer[name] = f"PyTorch has it since {since}" if since else "the installed PyTorch has no such operator"
    if collected.functions:
        try:
            with ended_by_interrupt(), work_folder() as place:
                _verify(model, place, outcome, options, progress, base)
        except StoppedError as error:
            outcome.give_up(error.why, str(error))
        except KeyboardInterrupt:
            if not outcome.checked:
                raise
            outcome.is_broken_off = True
            outcome.give_up(SkipReason.BROKEN_OFF, "the run was interrupted; the same command resumes it")
    return outcome


def _verify(
    model: Model, place: Path, outcome: RunOutcome, options: RunOptions, progress: Progress, base: Base | None
) -> None:
    collected = outcome.collected
    earlier = None if base is None else functions_of_base(collected.functions, base, options.helpers)
    count = len({id(function.written.entry) for function in collected.functions})
    # PyTorch is imported and inputs are recorded while the compiler runs
    with Server() as server, ThreadPoolExecutor(max_workers=1) as pool:
        operators = {function.spec.operator for function in collected.functions}
        recording = pool.submit(recorded, operators, options.dtypes, str(model.natives.version), place, progress)
        engine = engine_of(model, place, outcome, options, progress, base, earlier)
        samples = recording.result()
        if outcome.functions:
            missing = outcome.refused.keys() | outcome.left_out.keys()
            base_functions = None
            if earlier is not None:
                outcome.base = earlier.operators
                base_functions = {
                    name: [function.to_json() for function in functions if function.number not in missing]
                    for name, functions in earlier.operators.items()
                }
            effort = asdict(options.effort)
            if count <= MAX_EDITED:
                effort["directions"] = max(DIRECTIONS, options.effort.directions)
                effort["special"] = max(ORDINARY.special, options.effort.special)
            task = {
                **engine,
                **effort,
                "base": base_functions,
                "samples": {dtype: str(path) for dtype, path in samples.items()},
                "functions": [function.spec.to_json() for function in outcome.functions],
                "seed": options.seed,
                "precision": options.precision,
                "device": options.device,
                "jobs": options.jobs,
                "processor": PROCESSOR,
                "idle": IDLE,
            }
            _work(server, task, place, outcome, options.resume, progress)
    if earlier is not None:
        _judge_deaths(task if outcome.functions else {}, outcome)


def engine_of(
    model: Model,
    place: Path,
    outcome: RunOutcome,
    options: RunOptions,
    progress: Progress,
    base: Base | None,
    earlier: BaseFunctions | None,
) -> dict[str, Any]:
    """Compile or translate the formulas for the checking process, and record compiler errors in the outcome."""
    functions = outcome.collected.functions
    earlier_functions = earlier.functions if earlier is not None else ()
    if not options.compiles:
        from derivlint.verify.code.translation import translate_formulas

        translated = translate_formulas(model, functions)
        outcome.functions, outcome.left_out = translated.functions, translated.refused
        before = (
            translate_formulas(base.model, earlier_functions) if base is not None else translate_formulas(model, ())
        )
        outcome.left_out = {**outcome.left_out, **before.refused}
        return {"formulas": [formula.to_json() for formula in (*translated.formulas, *before.formulas)]}

    def library(functions: Sequence[FormulaFunction], helpers: Helpers | None) -> CompiledFunctions:
        return compiled(model, functions, place, helpers=helpers, compiler=options.compiler, progress=progress)

    helpers_before = base.helpers if base is not None else None
    try:
        if options.helpers == helpers_before or not earlier_functions:
            made = [library([*functions, *earlier_functions], options.helpers)]
        else:
            made = [library(functions, options.helpers), library(earlier_functions, helpers_before)]
    except EngineError as error:
        if error.is_missing:
            raise VerifyError(str(error)) from error
        raise StoppedError(SkipReason.FAILED, f"the formulas cannot be compiled: {error}") from error
    numbers = {function.spec.number for function in functions}
    outcome.functions = tuple(
        function for part in made for function in part.functions if function.spec.number in numbers
    )
    outcome.refused = {number: message for part in made for number, message in part.refused.items()}
    outcome.left_out = {number: message for part in made for number, message in part.uncallable.items()}
    for number in numbers & outcome.refused.keys():
        reason = needs_newer(outcome.refused[number], model.natives)
        if reason:
            outcome.newer[number] = reason
            del outcome.refused[number]
    return {"libraries": [str(part.library) for part in made], "place": str(place)}


def _judge_deaths(task: dict[str, Any], outcome: RunOutcome) -> None:
    """Give crashes a verdict: run only the functions of the base where a child crashed."""
    crashed = {death["died"]: death for death in outcome.deaths if death["why"] == SkipReason.CRASHED.value}
    functions = {function.spec.number: function.spec for function in outcome.functions}
    base = task.get("base") or {}
    again = []
    for operator, death in crashed.items():
        own = [function for function in functions.values() if function.operator == operator]
        earlier = (outcome.base or {}).get(operator, ())
        death["verdict"] = FindingVerdict.UNCHANGED.value if is_unchanged(own, earlier) else FindingVerdict.NEW.value
        if death["verdict"] == FindingVerdict.NEW.value:
            again += base.get(operator, [])
    if not again:
        return
    with Server() as server:
        for message in server.work({**task, "functions": again, "base": None}):
            if "died" in message and message["died"] in crashed:
                crashed[message["died"]]["verdict"] = FindingVerdict.UNCHANGED.value


def _work(
    server: Server, task: dict[str, Any], place: Path, outcome: RunOutcome, resume: bool, progress: Progress
) -> None:
    """Check all operators that are not in the journal of an interrupted run."""
    # one journal for each task
    content = {key: value for key, value in task.items() if key not in ("jobs", "processor", "idle")}
    digest = hashlib.sha256(json.dumps([__version__, content], sort_keys=True).encode()).hexdigest()[:16]
    journal = Journal(place / f"journal-{digest}.jsonl", resume=resume)
    outcome.take(journal.messages)
    done = journal.operators()
    total = len({function["operator"] for function in task["functions"]})
    remaining = [function for function in task["functions"] if function["operator"] not in done]
    progress(f"checking {counted(total, 'operator')}")
    try:
        for message in server.work({**task, "functions": remaining}) if remaining else ():
            journal.add(message)
            outcome.take([message])
            progress(f"checked {len(outcome.checked)} of {total} operators, {len(outcome.failures)} findings")
    except BaseException:
        journal.close()
        raise
    journal.finish()
