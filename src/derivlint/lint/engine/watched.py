"""Items that know which of them is being looked at: how a crash in a loop over a file finds its entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import TypeVar

T = TypeVar("T")


class Watched(tuple[T, ...]):
    """A tuple that keeps account of the loops over it.

    An exception that leaves a loop closes the loop's iterator, as ``break`` does. Only what comes next tells the two
    apart: after a ``break`` another item is taken from somewhere, after an exception nothing is.
    """

    # no __slots__: tuples of variable length cannot have any
    def __new__(cls, items: Iterable[T]) -> Watched[T]:
        """Watch some items."""
        made = super().__new__(cls, items)
        made._open = {}
        made._closed = {}
        made._numbers = count()
        return made

    _open: dict[int, T]
    _closed: dict[int, T]
    _numbers: Iterator[int]

    def __iter__(self) -> Iterator[T]:
        """The items; each is the current one until the next is asked for."""
        number = next(self._numbers)
        opened, closed = self._open, self._closed
        try:
            for item in super().__iter__():
                if closed:
                    closed.clear()
                opened[number] = item
                yield item
        except GeneratorExit:
            closed[number] = opened.pop(number)
            raise
        closed.clear()
        opened.pop(number, None)

    @property
    def current(self) -> T | None:
        """The item that the outermost loop is at, or was at when an exception left it; None outside of loops."""
        loops = {**self._open, **self._closed}
        return loops[min(loops)] if loops else None
