"""The client of the checking process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from derivlint.compiler.children import HungError, PythonChild, lines_of
from derivlint.verify.unchecked import SkipReason, StoppedError, VerifyError, exit_reason

MODULE = "derivlint.verify.processes.server"
#: The seconds after which an idle, silent process counts as hung.
IDLE = 120.0
#: The message about a hung process.
HUNG = "the checking process hangs without using processor time"


def early_exit(child: PythonChild) -> StoppedError:
    """Return the error for a process that closed its output before finishing."""
    try:
        status = child.process.wait(timeout=IDLE)
    except subprocess.TimeoutExpired:
        return StoppedError(SkipReason.HUNG, "the checking process closed its output and does not exit")
    why, reason = exit_reason(status, child.stderr_text(), 0.0)
    return StoppedError(why, reason)


class Server:
    """The checking process; it imports PyTorch at startup.

    Raises:
        StoppedError: it cannot be started.
    """

    def __init__(self) -> None:
        try:
            self._child = PythonChild(MODULE)
        except OSError as error:
            raise StoppedError(
                SkipReason.FAILED, f"cannot start the checking process: {error.strerror or error}"
            ) from error

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.end()

    def work(self, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Send a task and yield the messages of the process.

        Raises:
            VerifyError: the process rejects the task.
            StoppedError: it has ended or hangs.
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
            raise StoppedError(SkipReason.FAILED, f"the checking process sent invalid data: {error}") from error
        stopped = early_exit(self._child)
        raise StoppedError(stopped.why, f"the checking process ended: {stopped}")
