"""Freeing the memory of texts that are gone, when no one waits.

The collector of cycles, left to itself, looks through all operators again and again, which makes a check take half as
long again. So it is switched off: the models of texts that are gone are discarded, which leaves little to collect, and
that is done when no one types.
"""

from __future__ import annotations

import gc

#: After so many texts the little that is left of each is collected even if someone types on.
TEXTS = 1000


class Memory:
    """Decides when memory is freed."""

    def __init__(self) -> None:
        """Take over from the collector."""
        gc.disable()
        self._texts = 0

    def checked(self) -> None:
        """A text was checked.

        What the first check made, operators most of all, will live for a while and is not looked through again.
        """
        self._texts += 1
        if self._texts == 1:
            gc.freeze()
        elif self._texts % TEXTS == 0:
            gc.collect()

    def rest(self) -> None:
        """No one has typed for a while: free everything that is unused."""
        if self._texts > 1:
            self._texts = 1
            gc.unfreeze()
            gc.collect()
            gc.freeze()
