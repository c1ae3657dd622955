"""Freeing the models of texts that are gone, when no one waits.

Models hold cycles, which only the collector of cycles frees. Left to itself it looks through all operators again and
again, which makes a check take half as long again; so it is switched off, and asked to work when it disturbs least.
"""

from __future__ import annotations

import gc

#: So many checks leave their models before these are freed.
CHECKS = 40


class Memory:
    """Decides when memory is freed."""

    def __init__(self) -> None:
        """Take over from the collector."""
        gc.disable()
        self._checks = 0

    def checked(self) -> None:
        """A text was checked: free what is gone, now and then.

        What the first check made, operators most of all, will live for a while and is not looked through again.
        """
        self._checks += 1
        if self._checks == 1:
            gc.freeze()
        elif self._checks % CHECKS == 0:
            gc.collect()

    def rest(self) -> None:
        """No one has typed for a while: free everything that is unused."""
        if self._checks > 1:
            self._checks = 1
            gc.unfreeze()
            gc.collect()
            gc.freeze()
