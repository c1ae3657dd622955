"""Distinguishing a lack of memory from arguments that operators refuse."""

from __future__ import annotations

import os
import re

_SAID = re.compile(r"can't allocate memory|not enough memory|bad_alloc|bad allocation|Cannot allocate memory")
_WANTED = re.compile(r"tried to allocate (\d+) bytes")


def require_memory(error: Exception) -> None:
    """Raise a MemoryError for an error about a lack of memory; any other error is the caller's.

    PyTorch raises a ``RuntimeError`` for both. A request for more than the machine has is an error of the arguments.

    Raises:
        MemoryError: memory ran out.
    """
    if isinstance(error, MemoryError):
        raise error
    text = str(error)
    if not _SAID.search(text):
        return
    requested = _WANTED.search(text)
    if requested is None or int(requested[1]) <= _memory():
        raise MemoryError(text.splitlines()[0]) from error


def _memory() -> int:
    """Return the bytes of memory of the machine; a number beyond any memory if that is not known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 62
