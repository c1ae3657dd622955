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
        self._is_all = False

    def checked(self) -> None:
        """A text was checked.

        What the first check made, operators most of all, will live for a while and is not looked through again.
        """
        self._texts += 1
        if self._texts == 1:
            gc.freeze()
        elif self._texts % TEXTS == 0:
            gc.collect()

    def let_go(self) -> None:
        """A file was closed or operators are read again: what lived for a while may be unused now."""
        self._is_all = True

    def rest(self) -> None:
        """No one has typed for a while: free what is unused.

        To look through everything takes a fifth of a second, for which the next edit would have to wait.
        """
        if self._texts <= 1 and not self._is_all:
            return
        if self._is_all:
            gc.unfreeze()
        self._texts, self._is_all = 1, False
        gc.collect()
        gc.freeze()
