"""Who looked up what: the entries and facts that an edit can have changed are found without a look at the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from derivlint.model.query import Read

#: Runs of entries that are in two texts: their places in both, and their number.
Runs = Sequence[tuple[int, int, int]]
#: With so many times the numbers that are in use, old ones are forgotten.
SPARE = 4


class Readers:
    """Who looked up what in one text.

    An entry has a number, which it keeps in later texts as long as its text stays the same. What was noted is shared
    with those texts and only grows: whoever is found has to be asked what it looked up, and no one is missing.

    Attributes:
        numbers: those of the entries, in file order.
    """

    def __init__(
        self, numbers: tuple[int, ...], unused: int, entries: dict[Read, set[int]], facts: dict[Read, set[Read]]
    ) -> None:
        """Take what is known.

        Args:
            numbers: those of the entries, in file order.
            unused: the first number that no entry has or had.
            entries: the numbers of entries that looked something up.
            facts: likewise the facts of the file as a whole.
        """
        self.numbers = numbers
        self._unused = unused
        self._entries = entries
        self._facts = facts

    @classmethod
    def of(cls, entries: Iterable[Iterable[Read]], facts: Iterable[tuple[Read, Iterable[Read]]]) -> Readers:
        """Begin with what each entry and each fact looked up."""
        entries = tuple(entries)
        found = cls(tuple(range(len(entries))), len(entries), {}, {})
        for index, reads in enumerate(entries):
            found.add_entry(index, reads)
        for fact, reads in facts:
            found.add_fact(fact, reads)
        return found

    @property
    def is_worn(self) -> bool:
        """Whether most of what was noted is about entries that are gone."""
        return self._unused > SPARE * (len(self.numbers) + 100)

    def after(self, same: Runs, count: int) -> Readers:
        """Those of a later text, in which these runs of entries are the same.

        Args:
            same: the runs.
            count: the number of its entries.
        """
        numbers: list[int] = []
        unused = self._unused
        for old, new, size in (*same, (0, count, 0)):
            others = new - len(numbers)
            numbers += (*range(unused, unused + others), *self.numbers[old : old + size])
            unused += others
        return Readers(tuple(numbers), unused, self._entries, self._facts)

    def add_entry(self, index: int, reads: Iterable[Read]) -> None:
        """Note what the entry at a position looked up."""
        number = self.numbers[index]
        for read in reads:
            self._entries.setdefault(read, set()).add(number)

    def add_fact(self, fact: Read, reads: Iterable[Read]) -> None:
        """Note what a fact looked up."""
        for read in reads:
            self._facts.setdefault(read, set()).add(fact)

    def entries_that_read(self, reads: Iterable[Read]) -> list[int]:
        """The positions of entries that may have looked up one of these, in file order."""
        found = set(chain.from_iterable(self._entries.get(read, ()) for read in reads))
        return [index for index, number in enumerate(self.numbers) if number in found] if found else []

    def facts_that_rest_on(self, reads: Iterable[Read]) -> set[Read]:
        """The facts that may have looked up one of these, or a fact that did, and so on."""
        found: set[Read] = set()
        waiting: Iterator[Read] = iter(reads)
        while new := set(chain.from_iterable(self._facts.get(read, ()) for read in waiting)) - found:
            found |= new
            waiting = iter(new)
        return found
