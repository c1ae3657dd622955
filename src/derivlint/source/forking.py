"""Copies of this process that work for it: the one way to fork, and to end with the process that waits.

A copy holds no end of a pipe but the one that it writes its answer to, so that a pipe ends when one of its two
processes does; it is in a process group of its own, so that Ctrl-C is for the first process alone; and it ends with
that process, however that ends.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

#: The option of ``prctl`` that has a signal sent when the parent ends.
_PR_SET_PDEATHSIG = 1
#: The reading ends of the pipes of copies that are running.
_reading: set[int] = set()


def end_with_parent(parent: int) -> None:
    """Have this process ended at once when its parent ends, where the system can do that.

    Args:
        parent: the process that started this one.
    """
    if sys.platform == "linux":
        # also while a library holds the interpreter
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class Copy:
    """A copy of this process with some work, which returns bytes.

    Attributes:
        pid: the process.

    Raises:
        OSError: there cannot be one.
    """

    def __init__(self, work: Callable[[], bytes]) -> None:
        self._answer, writing = os.pipe()
        parent = os.getpid()
        try:
            self.pid = os.fork()
        except OSError:
            os.close(self._answer)
            os.close(writing)
            raise
        if self.pid:
            os.close(writing)
            _reading.add(self._answer)
            return
        # a copy never returns to what its parent goes on with
        try:
            for reading in (self._answer, *_reading):
                os.close(reading)
            os.setpgid(0, 0)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            end_with_parent(parent)
            with os.fdopen(writing, "wb") as file:
                file.write(work())
            os._exit(0)
        finally:
            # what crashes here crashes in the first process
            os._exit(1)

    def answer(self) -> bytes | None:
        """Wait for the end; None where the work was not done."""
        try:
            with os.fdopen(os.dup(self._answer), "rb") as file:
                data = file.read()
        except BaseException:
            self.end()
            raise
        return data if self._ended() == 0 else None

    def end(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._ended()

    def _ended(self) -> int:
        _reading.discard(self._answer)
        os.close(self._answer)
        return os.waitpid(self.pid, 0)[1]
