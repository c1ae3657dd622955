"""The recorded inputs of operators, recorded on first use for each PyTorch and stored in the work folder.

A separate process records them: it runs :func:`main`, and writes a checkpoint every few seconds, from which an
interrupted recording resumes.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from derivlint.source import is_own, locked
from derivlint.verify.inputs.recipes import operators_with_like_inputs
from derivlint.verify.inputs.samples import Recording, record, sample_sources, stem
from derivlint.verify.inputs.stored import DamagedError, Inputs, StoredInputs, write_inputs
from derivlint.verify.processes.process import IDLE, Server, send
from derivlint.verify.unchecked import SkipReason, StoppedError

#: Seconds between two checkpoints.
PERIOD = 5.0
#: The key of a checkpoint's own state: the number of OpInfos that have run, and the digest of the operators.
_STATE = ""
#: The version of the recorder; increased when recording or the file format changes.
RECORDER = 7
MODULE = "derivlint.verify.processes.recordings"


def main(lifeline: int) -> None:
    """Record inputs for each dtype, report progress on standard output, and write the files atomically.

    Args:
        lifeline: the pipe whose closing ends this process.
    """
    out = os.dup(1)
    os.dup2(2, 1)
    for task in json.loads(sys.stdin.readline())["tasks"]:
        _record(task["dtype"], Path(task["path"]), task["stems"], task["sources"], out)
    send({"end": True}, out)


def _record(dtype: str, target: Path, stems: list[str], sources: list[str] | None, out: int) -> None:
    digest = hashlib.sha256("\n".join(stems).encode()).hexdigest()
    checkpoint = target.with_suffix(".part")
    recording = resumed(checkpoint, digest)
    last = time.monotonic()

    def report(position: int, count: int) -> None:
        nonlocal last
        send({"recorded": f"{dtype}: {position} of {count}"}, out)
        if time.monotonic() - last >= PERIOD:
            # without a checkpoint an interrupted recording starts over
            with suppress(OSError):
                keep(checkpoint, recording, digest)
            last = time.monotonic()

    record(dtype, stems, recording, report, sources)
    # an operator without inputs is not looked for again
    add_inputs(target, {**{name: [] for name in stems}, **recording.inputs})
    checkpoint.unlink(missing_ok=True)


def add_inputs(path: Path, inputs: Inputs) -> None:
    """Add inputs to a file, to which other processes may add at the same time.

    Raises:
        OSError: the file cannot be written.
    """
    with locked(path.parent):
        stored = _stored(path)
        write_inputs(path, inputs if stored is None else {**stored, **inputs})


def keep(checkpoint: Path, recording: Recording, digest: str) -> None:
    """Write a checkpoint.

    Raises:
        OSError: the file cannot be written.
    """
    write_inputs(checkpoint, {**recording.inputs, _STATE: [[recording.done, digest]]})


def resumed(checkpoint: Path, digest: str) -> Recording:
    """Return the recording of a checkpoint; an empty one without a valid checkpoint for these operators."""
    try:
        if is_own(checkpoint):
            stored = StoredInputs(checkpoint)
            ((done, operators),) = stored[_STATE]
            if operators == digest:
                return Recording({name: stored[name] for name in stored if name != _STATE}, done)
    except (OSError, DamagedError, KeyError, ValueError):
        # recording starts over
        pass
    return Recording()


def recording_path(place: Path, dtype: str, version: str) -> Path:
    """The path of the recorded inputs for a dtype."""
    return place / f"samples-{RECORDER}-{version}-{dtype}.bin"


def stems_of(operators: Iterable[str]) -> set[str]:
    """Return the stems of operators, and of the operators whose inputs they use."""
    like = operators_with_like_inputs()
    return {stem(name.partition(".")[0]) for operator in operators for name in (operator, like.get(operator, operator))}


def recorded(
    operators: Iterable[str], dtypes: Iterable[str], version: str, place: Path, progress: Callable[[str], None]
) -> dict[str, Path]:
    """Return the files with recorded inputs by dtype, after recording the inputs of missing operators.

    Args:
        operators: the operators.
        dtypes: the dtypes.
        version: the version of the installed PyTorch.
        place: the work folder.
        progress: called with the progress.

    Raises:
        StoppedError: nothing can be recorded.
    """
    stems = stems_of(operators)
    paths = {dtype: recording_path(place, dtype, version) for dtype in dtypes}
    tasks = []
    changed = []
    try:
        for dtype, path in paths.items():
            stored = _stored(path)
            if stored is None:
                path.unlink(missing_ok=True)
            missing = stems.difference(() if stored is None else (stem(name.partition(".")[0]) for name in stored))
            sources = sample_sources(missing, version)
            if sources or sources is None:
                listed = None if sources is None else sorted(sources)
                changed.append(path)
                tasks.append({"dtype": dtype, "path": str(path), "stems": sorted(missing), "sources": listed})
            elif stored is None:
                changed.append(path)
                add_inputs(path, {})
        if tasks:
            progress("recording inputs of PyTorch's samples")
            _run_recorder(tasks, progress)
    except OSError as error:
        raise _failed(SkipReason.FAILED, error.strerror or str(error)) from error
    except StoppedError as error:
        raise _failed(error.why, str(error)) from error
    if None in map(_stored, changed):
        raise _failed(SkipReason.FAILED, "the recorded inputs cannot be read")
    return paths


def _failed(why: SkipReason, reason: str) -> StoppedError:
    more = "; the extra derivlint[verify] has what recording needs" if "ModuleNotFoundError" in reason else ""
    return StoppedError(why, f"no inputs can be recorded: {reason}{more}")


def _stored(path: Path) -> StoredInputs | None:
    """Return the inputs in a file, or None if it is missing, damaged, or writable by other users."""
    if not is_own(path) or not path.is_file():
        return None
    try:
        stored = StoredInputs(path)
        stored.check()
    except (OSError, DamagedError):
        return None
    return stored


def _run_recorder(tasks: list[dict[str, Any]], progress: Callable[[str], None]) -> None:
    """Record inputs in a separate process.

    Raises:
        StoppedError: the process cannot be started, hangs, or ends without a result.
    """
    with Server(MODULE) as recorder:
        for message in recorder.work({"tasks": tasks, "idle": IDLE}):
            progress(f"recording inputs of PyTorch's samples, {message['recorded']}")
