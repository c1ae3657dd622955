"""Whole command lines: most of them in this process, some in one of their own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from derivlint.cli.main import run
from derivlint.cli.run import Program
from derivlint.cli.run import run as run_command
from derivlint.project.errors import InputError
from derivlint.source import SourceFile
from fuzz.case import Case
from fuzz.generators import command_lines
from fuzz.oracle import check_plain, normalized
from fuzz.output_oracle import check_format, strict_documents
from fuzz.target import Target, Violation, require
from fuzz.targets.workplace import prepare, workplace

#: What a command may exit with; 3 and others are errors of derivlint.
_STATUSES = (0, 1, 2)
#: Commands whose standard output has the text of files in it as it is, or text of derivlint's own.
_VERBATIM = ("--fix", "--fix-only", "--diff", "--add-ignores")
#: Seconds of a process, wall clock: far more than it needs on a machine with other work.
_PATIENCE = 120.0


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    status: int
    out: str
    err: str


def _in_process(case: Case) -> Outcome:
    streams = [io.BytesIO() for _ in range(2)]
    stdin, stdout, stderr = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace") for stream in streams)
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(case.stdin), encoding="utf-8"), out, err
    try:
        status = run(list(case.arguments))
        out.flush()
        err.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
    return Outcome(status, *(stream.getvalue().decode("utf-8", "surrogateescape") for stream in streams))


def _as_process(case: Case, folder: Path, environment: Mapping[str, str]) -> Outcome:
    command = [sys.executable, "-m", "derivlint", *case.arguments]
    try:
        done = subprocess.run(
            command, input=case.stdin, capture_output=True, timeout=_PATIENCE, check=False, cwd=folder,
            env={**os.environ, **environment},
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Violation("a process that does not end", str(case.arguments)) from error
    return Outcome(done.returncode, *(data.decode("utf-8", "surrogateescape") for data in (done.stdout, done.stderr)))


def _judge(case: Case, outcome: Outcome) -> None:
    internal = outcome.status == 3 or "internal error" in outcome.err or "[internal-error]" in outcome.out
    if internal or "Traceback" in outcome.err:
        lines = [line for line in (outcome.err + outcome.out).splitlines() if "rror" in line]
        raise Violation(
            f"internal error: {normalized(lines[0]) if lines else ''}", f"{outcome.err[-1500:]}\n{outcome.out[-500:]}"
        )
    require(outcome.status in _STATUSES, f"exit status {outcome.status}", outcome.err[-500:])
    if outcome.status == 2 and case.arguments[:1] != ("check",):
        require(bool(outcome.err.strip()), "wrong usage without a message")
    colored = "always" in case.arguments
    # a fixed text takes standard output; the findings that are left then stand, with their styles, on standard error
    check_plain(outcome.err, "standard error", colored=colored)
    if any(option in case.arguments for option in _VERBATIM):
        return
    check_plain(outcome.out, "standard output", colored=colored)
    if {"-h", "--help"} & set(case.arguments):
        return
    if case.arguments[:1] == ("check",) and outcome.out and "--show-settings" not in case.arguments:
        _check_report(case, outcome)
    elif case.arguments[:1] == ("model",) and outcome.out:
        try:
            strict_documents(outcome.out)
        except ValueError as error:
            raise Violation("a model that is not JSON", str(error)) from error


def _check_report(case: Case, outcome: Outcome) -> None:
    name = _value(case.arguments, "--output-format")
    special = {"--show-files", "--output-file"} & set(case.arguments)
    if name is not None and not special:
        sources = {path: SourceFile.from_bytes(path, data) for path, data in case.files.items()}
        check_format(name, outcome.out, sources)


def _value(arguments: Sequence[str], option: str) -> str | None:
    if "--" in arguments:
        # what comes after it is a path, however it begins
        arguments = arguments[: arguments.index("--")]
    places = [at for at, argument in enumerate(arguments[:-1]) if argument == option]
    return arguments[places[-1] + 1] if places else None


def _placed(data: bytes) -> Case | None:
    try:
        case = Case.decoded(data)
    except ValueError:
        return None
    place = workplace()
    place.clear()
    case.write(place.folder)
    return case


def command(data: bytes) -> object:
    """A command exits with a status of the contract, prints what its reader can parse, and changes nothing outside."""
    case = _placed(data)
    if case is None:
        return None
    prepare()
    outcome = _in_process(case)
    workplace().check_outside()
    _judge(case, outcome)
    return outcome.status, outcome.out


def emission(data: bytes) -> object:
    """What an earlier emission did not write stays as it is, whatever a manifest says."""
    case = _placed(data)
    if case is None:
        return None
    prepare()
    place = workplace()
    outcome = _in_process(case)
    place.check_outside()
    _judge(case, outcome)
    contents = place.contents()
    for name, before in case.files.items():
        if name != "out/derivlint.json":
            require(contents.get(name) == before, "a file of someone else overwritten or deleted", name)
    return outcome.status


def process(data: bytes) -> object:
    """A process does what is done here, and the same whatever hashes are seeded with."""
    case = _placed(data)
    if case is None:
        return None
    place = workplace()
    outcomes = []
    for seed in ("1", "2"):
        place.clear()
        case.write(place.folder)
        outcomes.append(
            _as_process(case, place.folder, {"PYTHONHASHSEED": seed, "DERIVLINT_CACHE_DIR": str(place.root / seed)})
        )
    place.check_outside()
    _judge(case, outcomes[0])
    require(outcomes[0].out == outcomes[1].out, "output that depends on the seed of hashes", outcomes)
    return outcomes[0].status


def run_arguments(data: bytes) -> object:
    """The arguments of ``run`` name a program, or are refused with a reason; nothing is compiled."""
    case = _placed(data)
    if case is None:
        return None
    try:
        with run_command.make_context("run", list(case.arguments[1:])) as context:
            return Program.read(context.obj)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.ClickException, InputError) as error:
        require(bool(str(error).strip()), "wrong usage without a message")
        return str(error)


TARGETS = (
    Target("command", 250, command_lines.case_bytes, command, seconds=6.0),
    Target("suggest", 8, command_lines.suggest_bytes, command, seconds=20.0, is_costly=True),
    Target("run", 200, command_lines.run_bytes, run_arguments),
    Target("emission", 8, command_lines.emission_bytes, emission, seconds=20.0, is_costly=True),
    Target("process", 1.0, command_lines.process_bytes, process, seconds=10.0, is_costly=True),
)
