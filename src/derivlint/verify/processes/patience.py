"""Detection of processes that hang, by processor time: on a loaded machine wall-clock time shows nothing."""

from __future__ import annotations

import os
import time

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
