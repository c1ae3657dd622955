"""Sharing work out among processes.

A process is a copy of this one, so that nothing has to be handed to it: it knows the model as far as it is worked out.
Copies are safe where nothing runs next to what is copied: on Linux, in a process with one thread.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: What no copy does for less: it takes some milliseconds.
SHARE = 100
#: With more processes little is gained: reading the file and joining the findings is done by one.
MOST = 4

T = TypeVar("T")


def processes_for(count: int) -> int:
    """Into how many processes so many entries are best divided, this one counted."""
    if sys.platform != "linux" or count < 2 * SHARE:
        return 1
    return max(min(len(os.sched_getaffinity(0)), count // SHARE, MOST), 1) if _is_alone() else 1


def _is_alone() -> bool:
    """Whether this process has no other thread, also none that Python did not start."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def shared_out(work: Callable[[T], bytes], shares: Sequence[T]) -> Iterator[bytes]:
    """What a function finds in each share: the first one is worked on here, the others in processes of their own.

    What a process does not finish, whatever the cause, is worked on here.
    """
    from multiprocessing import get_context

    context = get_context("fork")
    started = []
    for share in shares[1:]:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(there, work, share), daemon=True)
        process.start()
        there.close()
        started.append((process, here, share))
    yield work(shares[0])
    for process, here, share in started:
        try:
            found: bytes | None = here.recv_bytes()
        except (EOFError, OSError):
            found = None
        here.close()
        process.join()
        yield found if found is not None else work(share)


def _work(there: Connection, work: Callable[[T], bytes], share: T) -> None:
    try:
        there.send_bytes(work(share))
    except BaseException:
        # an interrupt is for the process that waits for this one, and what crashes here crashes there
        os._exit(1)
