"""The client side of the process that checks."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from derivlint.compiler.children import PythonChild
from derivlint.verify.unchecked import SkipReason, StoppedError, VerifyError, exit_reason

MODULE = "derivlint.verify.processes.server"
#: A process that waits for something else than a processor, and says nothing, hangs after so many seconds.
IDLE = 120.0
#: Seconds between two looks at that.
LOOK = 5.0


#: A process that uses less than this part of one processor, and waits for something else than a processor, hangs.
LEAST = 0.01
#: Where the system does not say what a process uses, it may take as many times longer.
BLIND = 10.0


class HangDetector:
    """Decides whether a process hangs.

    Args:
        pid: the process.
        idle: seconds that it may go without a message and without using the processor.
    """

    def __init__(self, pid: int, idle: float) -> None:
        self._pid = pid
        self._idle = idle
        self.reset()

    def reset(self) -> None:
        """Start the interval again after a message of the process."""
        self._since = time.monotonic()
        self._used = _usage(self._pid)[0]

    def is_hanging(self) -> bool:
        """Whether the process hangs."""
        waited = time.monotonic() - self._since
        if waited < self._idle:
            return False
        used, is_runnable = _usage(self._pid)
        if used is None or self._used is None:
            return waited > BLIND * self._idle
        if is_runnable or used - self._used >= LEAST * waited:
            self.reset()
            return False
        return True


def _usage(pid: int) -> tuple[float | None, bool]:
    """The processor time of a process in seconds, None where that is not known; whether it waits for a processor."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # the name of the program may hold anything, blanks and brackets as well
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == b"R"
    except (OSError, ValueError, IndexError, AttributeError):
        return None, False


def lines_of(child: PythonChild, idle: float) -> Iterator[bytes]:
    """Yield the lines that a process writes until it closes its output, without an incomplete last line.

    Raises:
        StoppedError: the process hangs.
        OSError: it cannot be read.
    """
    assert child.process.stdout is not None
    pipe = child.process.stdout.fileno()
    hang_detector = HangDetector(child.process.pid, idle)
    rest = b""
    while True:
        if not select.select([pipe], [], [], LOOK)[0]:
            if hang_detector.is_hanging():
                raise StoppedError(SkipReason.HUNG, "the checking process hangs without using processor time")
            continue
        data = os.read(pipe, 1 << 16)
        if not data:
            return
        hang_detector.reset()
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def early_exit(child: PythonChild) -> StoppedError:
    """Return the error for a process that closed its output before it had finished."""
    try:
        status = child.process.wait(timeout=IDLE)
    except subprocess.TimeoutExpired:
        return StoppedError(SkipReason.HUNG, "the checking process closed its output and does not exit")
    why, reason = exit_reason(status, child.stderr_text(), 0.0)
    return StoppedError(why, reason)


class Server:
    """The process that checks. PyTorch is imported there as soon as it is started.

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
            VerifyError: it refuses to work.
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
            # why it has ended is found out below
            pass
        except (OSError, ValueError) as error:
            raise StoppedError(SkipReason.FAILED, f"the checking process sent invalid data: {error}") from error
        stopped = early_exit(self._child)
        raise StoppedError(stopped.why, f"the checking process ended: {stopped}")
