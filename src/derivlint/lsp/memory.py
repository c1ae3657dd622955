"""Freeing the models of texts that are gone, when nobody waits.

Models hold cycles, which only the collector of cycles frees. Left to itself it looks through all operators again and
again, which makes a check take half as long again; so it is switched off, and asked to work when it disturbs least.
"""

from __future__ import annotations

import gc

#: So many checks of parts leave their models behind before these are freed.
PARTS = 40


class Memory:
    """Decides when memory is freed."""

    def __init__(self) -> None:
        """Take over from the collector."""
        gc.disable()
        self._parts = 0
        self._wholes = 0

    def checked_part(self) -> None:
        """A part of a file was checked: free what is young, which is quick, now and then."""
        self._parts += 1
        if self._parts >= PARTS:
            self._parts = 0
            gc.collect()

    def checked_whole(self) -> None:
        """A whole file was checked: what there is now will live for a while, and is not looked through."""
        self._wholes += 1
        gc.freeze()

    def rest(self) -> None:
        """Nobody has typed for a while: free everything that is not used any more."""
        if self._wholes > 1:
            self._wholes = 1
            self._parts = 0
            gc.unfreeze()
            gc.collect()
            gc.freeze()
