"""The client of the processes that check and that record: each reads a task and writes messages, as lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from derivlint.compiler.children import HungError, PythonChild, lines_of
from derivlint.verify.unchecked import SkipReason, StoppedError, VerifyError, exit_reason

MODULE = "derivlint.verify.processes.server"
#: The number of seconds after which an idle, silent process counts as hung.
IDLE = 120.0
#: The message about a hung process.
HUNG = "the process hangs without using processor time"


def send(message: dict[str, Any], to: int | None = None) -> None:
    """Write a message as one line of JSON."""
    data = (json.dumps(message) + "\n").encode()
    target = sys.stdout.fileno() if to is None else to
    while data:
        data = data[os.write(target, data) :]


class Server:
    """A process for one task; it imports PyTorch at startup.

    Args:
        module: the module that it runs; by default the one that checks.

    Raises:
        StoppedError: the process cannot be started.
    """

    def __init__(self, module: str | None = None) -> None:
        try:
            self._child = PythonChild(module or MODULE)
        except OSError as error:
            raise StoppedError(SkipReason.FAILED, f"cannot start a process: {error.strerror or error}") from error

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.end()

    def work(self, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Send a task and yield the messages of the process, which ends with ``end``.

        Raises:
            VerifyError: the process rejects the task.
            StoppedError: the process has ended or hangs.
        """
        stdin = self._child.process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(task).encode() + b"\n")
            stdin.flush()
            for line in lines_of(self._child, task["idle"]):
                message = json.loads(line)
                if "fatal" in message:
                    raise VerifyError(message["fatal"])
                if "end" in message:
                    return
                if "alive" not in message:
                    yield message
        except BrokenPipeError:
            # the reason is determined below
            pass
        except HungError as error:
            raise StoppedError(SkipReason.HUNG, HUNG) from error
        except (OSError, ValueError) as error:
            raise StoppedError(SkipReason.FAILED, f"the process sent invalid data: {error}") from error
        try:
            status = self._child.process.wait(timeout=IDLE)
        except subprocess.TimeoutExpired:
            raise StoppedError(SkipReason.HUNG, "the process closed its output and does not exit") from None
        raise StoppedError(*exit_reason(status, self._child.stderr_text(), 0.0))
