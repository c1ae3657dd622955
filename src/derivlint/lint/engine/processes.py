"""Sharing work out among processes.

A process is a copy of this one, so that nothing has to be handed to it: it knows the model as far as it is worked out.
Copies are safe where nothing runs next to what is copied: on Linux, in a process with one thread.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

#: For fewer entries no copy is made: that takes some milliseconds.
SHARE = 100
#: With more processes little is gained: reading the file and joining the findings is done by one.
MOST = 4
#: The smallest part that a process takes.
PART = 6

T = TypeVar("T")
R = TypeVar("R")


def processes_for(count: int) -> int:
    """How many processes best check so many entries, this one counted."""
    return 1 if count < 2 * SHARE else min(_processors(), count // SHARE, MOST)


def _processors() -> int:
    """How many processors this process and copies of it can use; one where there can be no copies."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" and _is_alone() else 1


def _is_alone() -> bool:
    """Whether this process has no other thread, also none that Python did not start."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def shared_out(
    work: Callable[[Iterator[Sequence[T]]], R], pack: Callable[[R], bytes], items: Sequence[T], number: int
) -> tuple[R, list[bytes]]:
    """What so many processes find: this one, and copies of it.

    What a copy does not bring to its end, whatever the cause, is missing.

    Args:
        work: is given runs of items, which follow each other, and says what it found in them.
        pack: makes bytes of what a copy found.
        items: the items.
        number: the number of processes.
    """
    parts = _parts(items, number)
    # who is done with a part reads the number of the next one
    numbers, written = os.pipe()
    os.write(written, bytes(range(len(parts))))
    os.close(written)

    def taken() -> Iterator[Sequence[T]]:
        while part := os.read(numbers, 1):
            yield parts[part[0]]

    try:
        own, answers = _next_to_copies([lambda: pack(work(taken()))] * (number - 1), lambda: work(taken()))
    finally:
        os.close(numbers)
    return own, [answer for answer in answers if answer is not None]


def found_elsewhere(work: Callable[[], bytes], meanwhile: Callable[[], object]) -> bytes | None:
    """What a copy of this process finds, while this one does something else.

    None where there is only one processor, or the copy does not come to its end.
    """
    if _processors() == 1:
        return None
    _, answers = _next_to_copies([work], meanwhile)
    return answers[0] if answers else None


def _next_to_copies(works: Sequence[Callable[[], bytes]], own: Callable[[], R]) -> tuple[R, list[bytes | None]]:
    """What this process finds, and what copies of it find meanwhile, each with its own work."""
    copies: list[tuple[int, int]] = []
    # there may be too many processes already
    with suppress(OSError):
        copies.extend(map(_copy, works))
    try:
        found = own()
    except BaseException:
        for process, answers in copies:
            os.close(answers)
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        raise
    return found, [_finished(process, answers) for process, answers in copies]


def _parts(items: Sequence[T], number: int) -> list[Sequence[T]]:
    """Smaller and smaller parts: a process that is done with one takes the next, and all end at the same time."""
    parts = []
    start = 0
    while start < len(items):
        size = max((len(items) - start) // (2 * number), PART)
        parts.append(items[start : start + size])
        start += size
    return parts


def _copy(work: Callable[[], bytes]) -> tuple[int, int]:
    """Begin some work in a copy of this process; its number, and the end of a pipe for what it finds.

    Raises:
        OSError: there cannot be one.
    """
    answers, written = os.pipe()
    try:
        process = os.fork()
    except OSError:
        os.close(answers)
        os.close(written)
        raise
    if process:
        os.close(written)
        return process, answers
    # a copy never returns: what it would go on with is not its business
    try:
        with os.fdopen(written, "wb") as file:
            file.write(work())
        os._exit(0)
    finally:
        # an interrupt is for the first process, and what crashes here crashes there
        os._exit(1)


def _finished(process: int, answers: int) -> bytes | None:
    """What a copy found; None where it did not come to its end."""
    with os.fdopen(answers, "rb") as file:
        data = file.read()
    _, status = os.waitpid(process, 0)
    return data if status == 0 else None
