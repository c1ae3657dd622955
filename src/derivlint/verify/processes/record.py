"""Recording inputs in a process of its own; the arguments are a type and a file, operators come on standard input.

What is recorded is written down every few seconds, so that an interrupted recording goes on where it was.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from derivlint.source import is_own
from derivlint.verify.inputs.samples import Recording, record
from derivlint.verify.inputs.stored import DamagedError, StoredInputs, write_inputs

#: Seconds between two checkpoints.
PERIOD = 5.0
#: The key of a checkpoint's own state: the number of OpInfos that have run, and the digest of the operators.
_STATE = ""


def main(lifeline: int) -> None:
    """Record, report progress on standard output, and write the file as a whole or not at all.

    Args:
        lifeline: the pipe whose end ends this process, which starts no other.
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
            # without it an interrupted recording begins again
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
    """The recording of a checkpoint; an empty one where there is none of these operators, or it is damaged."""
    try:
        if is_own(checkpoint):
            stored = StoredInputs(checkpoint)
            ((done, operators),) = stored[_STATE]
            if operators == digest:
                return Recording({name: stored[name] for name in stored if name != _STATE}, done)
    except (OSError, DamagedError, KeyError, ValueError):
        # it begins again
        pass
    return Recording()
