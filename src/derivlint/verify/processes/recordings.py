"""The recorded inputs of all operators, recorded once for each PyTorch and stored in the work folder.

A separate process records them: it runs :func:`main` with a dtype and a file as arguments and reads operators from
standard input. It writes a checkpoint every few seconds, from which an interrupted recording resumes.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from derivlint.compiler.children import HungError, PythonChild, lines_of
from derivlint.model import Model
from derivlint.source import is_own
from derivlint.verify.code.functions import FOREACH
from derivlint.verify.inputs.samples import Recording, record
from derivlint.verify.inputs.stored import DamagedError, StoredInputs, write_inputs
from derivlint.verify.processes.process import HUNG, IDLE, early_exit
from derivlint.verify.unchecked import SkipReason, StoppedError

#: Seconds between two checkpoints.
PERIOD = 5.0
#: The key of a checkpoint's own state: the number of OpInfos that have run, and the digest of the operators.
_STATE = ""
#: The version of the recorder; increased when recording or the file format changes.
RECORDER = 6
MODULE = "derivlint.verify.processes.recordings"


def main(lifeline: int) -> None:
    """Record inputs, report progress on standard output, and write the file atomically.

    Args:
        lifeline: the pipe whose closing ends this process.
    """
    dtype, target = sys.argv[1], Path(sys.argv[2])
    out = os.dup(1)
    os.dup2(2, 1)
    names = sys.stdin.read()
    operators = {name.strip().partition(".")[0] for name in names.splitlines()}
    digest = hashlib.sha256(names.encode()).hexdigest()
    checkpoint = target.with_suffix(".part")
    recording = resumed(checkpoint, digest)
    last = time.monotonic()

    def tell(position: int, count: int) -> None:
        nonlocal last
        os.write(out, f"{position} {count}\n".encode())
        if time.monotonic() - last >= PERIOD:
            # without a checkpoint an interrupted recording starts over
            with suppress(OSError):
                keep(checkpoint, recording, digest)
            last = time.monotonic()

    record(dtype, operators, recording, tell)
    if not recording.inputs:
        sys.exit("none of PyTorch's samples runs")
    write_inputs(target, recording.inputs)
    checkpoint.unlink(missing_ok=True)
    os.write(out, b"done\n")


def keep(checkpoint: Path, recording: Recording, digest: str) -> None:
    """Write a checkpoint.

    Raises:
        OSError: it cannot be written.
    """
    write_inputs(checkpoint, {**recording.inputs, _STATE: [[recording.done, digest]]})


def resumed(checkpoint: Path, digest: str) -> Recording:
    """The recording of a checkpoint; empty if there is none for these operators, or it is damaged."""
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


def recorded(model: Model, dtype: str, place: Path, progress: Callable[[str], None]) -> Path:
    """The file with the recorded inputs for a dtype; recorded if missing or damaged.

    Args:
        model: the file with the operators.
        dtype: the dtype.
        place: the work folder.
        progress: called with the progress.

    Raises:
        StoppedError: nothing can be recorded.
    """
    path = recording_path(place, dtype, str(model.natives.version))
    if _is_whole(path):
        return path
    # the next file has other entries, so inputs are recorded for all of them at once
    own_operators = {entry.operator for entry in model.entries if entry.operator is not None}
    lists = {name for name in model.natives.operator_names() if name.startswith(FOREACH)}
    names = "\n".join(sorted(own_operators.union(model.natives.derivatives or (), lists)))
    progress(f"recording inputs of PyTorch's samples, {dtype}")
    try:
        path.unlink(missing_ok=True)
        _run_recorder(dtype, path, names, progress)
    except OSError as error:
        raise _failed(dtype, SkipReason.FAILED, error.strerror or str(error)) from error
    except HungError as error:
        raise _failed(dtype, SkipReason.HUNG, HUNG) from error
    except StoppedError as error:
        raise _failed(dtype, error.why, str(error)) from error
    if not _is_whole(path):
        raise _failed(dtype, SkipReason.FAILED, "what was recorded cannot be read")
    return path


def _failed(dtype: str, why: SkipReason, reason: str) -> StoppedError:
    more = "; the extra derivlint[verify] has what recording needs" if "ModuleNotFoundError" in reason else ""
    return StoppedError(why, f"no inputs of type {dtype} can be recorded: {reason}{more}")


def _is_whole(path: Path) -> bool:
    """Whether a file exists, is complete, and can only be written by this user."""
    if not is_own(path) or not path.is_file():
        return False
    try:
        StoredInputs(path).check()
    except (OSError, DamagedError):
        return False
    return True


def _run_recorder(dtype: str, path: Path, names: str, progress: Callable[[str], None]) -> None:
    """Record in a separate process.

    Raises:
        OSError: it cannot be started or read.
        HungError: it hangs.
        StoppedError: it ended without a result.
    """
    child = PythonChild(MODULE, dtype, str(path))
    try:
        assert child.process.stdin is not None
        try:
            child.process.stdin.write(names.encode())
            child.process.stdin.close()
        except BrokenPipeError:
            # it has ended already; the reason is determined below
            pass
        is_done = False
        for line in lines_of(child, IDLE):
            is_done = line == b"done"
            number, _, count = line.decode(errors="replace").partition(" ")
            if count:
                progress(f"recording inputs of PyTorch's samples, {dtype}: {number} of {count}")
        if not is_done:
            raise early_exit(child)
    finally:
        child.end()
