"""Bounds of processor time and memory around one input."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from fuzz.target import Violation

#: By how much the memory of the process may grow with one input; the issue's bound for 64 KiB of anything.
MEGABYTES = 300
#: What a process may have in all, so that one that grows without bounds ends with an error and not the machine.
ADDRESS_SPACE = 6 * 2**30


class TooSlowError(BaseException):
    """An input takes more processor time than it may; not an ``Exception``, which someone might catch."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Expect that what is done inside needs no more than that.

    Args:
        seconds: the processor time, of all threads.

    Raises:
        TooSlowError: it takes longer.
        Violation: it takes too much memory.
    """

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlowError

    forget_peak()
    before = peak()
    handler = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
    grown = (peak() - before) // 1024
    if grown > MEGABYTES:
        raise Violation(f"more than {MEGABYTES} MB", f"{grown} MB")


def forget_peak() -> None:
    """Begin to measure again, where the system can: what an earlier input took hides what the next one takes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """The most memory that this process has had, in KiB; on Linux since it was last forgotten."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def limit_memory() -> None:
    """Bound the memory of this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, hard))
