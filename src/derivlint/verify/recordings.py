"""The recorded inputs of all operators: recorded once for each PyTorch, and kept in the cache."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from derivlint.model import Model
from derivlint.project.cache import cache_folder
from derivlint.verify.errors import VerifyError

#: Raised when recording or the form of the file changes.
RECORDER = 2


def folder() -> Path:
    """Where verification keeps what it has made."""
    return (cache_folder() or Path(tempfile.gettempdir()) / "derivlint") / "verify"


def recording_path(dtype: str, version: str) -> Path:
    """Where the recorded inputs of a type of numbers are kept."""
    return folder() / f"samples-{RECORDER}-{version}-{dtype}.bin"


def recorded(model: Model, dtype: str, progress: Callable[[str], None]) -> Path:
    """The file with the recorded inputs of a type of numbers, recorded where they are not.

    Raises:
        VerifyError: nothing can be recorded.
    """
    path = recording_path(dtype, str(model.natives.version))
    if path.is_file():
        return path
    names = "\n".join(sorted({entry.operator for entry in model.entries if entry.operator is not None}))
    command = [sys.executable, "-m", "derivlint.verify.record", dtype, str(path)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VerifyError(f'cannot write to "{path.parent}": {error.strerror or error}') from error
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(names)
            process.stdin.close()
        except OSError:
            # it has ended already, which is told below
            pass
        for line in process.stdout:
            number, _, count = line.strip().partition(" ")
            progress(f"recording inputs of PyTorch's samples, {dtype}: {number} of {count}")
    if not path.is_file():
        raise VerifyError(f"no inputs of type {dtype} can be recorded; the extra derivlint[verify] has what that needs")
    return path
