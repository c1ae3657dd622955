"""Who looked up what: the entries and facts that an edit can have changed are found without a look at the others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from derivlint.model.index import SPACING, first_numbers
from derivlint.model.query import Read

#: Runs of entries that are in two texts: their places in both, and their number.
Runs = Sequence[tuple[int, int, int]]
#: After so many times as many entries as there are, what was noted is noted anew.
SPARE = 4


class Readers:
    """Who looked up what in one text.

    An entry has a number, which it keeps in later texts as long as its text stays the same. What was noted is shared
    with those texts and only grows: whoever is found has to be asked what it looked up, and no one is missing.

    Attributes:
        numbers: those of the entries, in file order, in which they grow.
    """

    def __init__(
        self, numbers: Sequence[int], replaced: int, entries: dict[Read, set[int]], facts: dict[Read, set[Read]]
    ) -> None:
        """Take what is known.

        Args:
            numbers: those of the entries, in file order.
            replaced: how many entries came after the first text.
            entries: the numbers of entries that looked something up.
            facts: likewise the facts of the file as a whole.
        """
        self.numbers = numbers
        self._replaced = replaced
        self._entries = entries
        self._facts = facts

    @classmethod
    def of(cls, entries: Iterable[Iterable[Read]], facts: Iterable[tuple[Read, Iterable[Read]]]) -> Readers:
        """Begin with what each entry and each fact looked up."""
        entries = tuple(entries)
        found = cls(first_numbers(len(entries)), 0, {}, {})
        for index, reads in enumerate(entries):
            found.add_entry(index, reads)
        for fact, reads in facts:
            found.add_fact(fact, reads)
        return found

    def after(self, same: Runs, count: int) -> Readers | None:
        """Those of a later text, in which these runs of entries are the same.

        None where two neighbours leave no number for an entry between them, or most of what was noted is about entries
        that are gone: then one begins anew.

        Args:
            same: the runs.
            count: the number of its entries.
        """
        numbers: list[int] = []
        replaced = self._replaced
        for old, new, size in (*same, (len(self.numbers), count, 0)):
            others = new - len(numbers)
            if others:
                before = numbers[-1] if numbers else -SPACING
                after = self.numbers[old] if old < len(self.numbers) else before + (others + 1) * SPACING
                step = (after - before) // (others + 1)
                if step == 0:
                    return None
                numbers += range(before + step, before + step * (others + 1), step)
                replaced += others
            numbers += self.numbers[old : old + size]
        if replaced > SPARE * (len(numbers) + 100):
            return None
        return Readers(numbers, replaced, self._entries, self._facts)

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
        numbers = self.numbers
        found = []
        for number in sorted(set(chain.from_iterable(self._entries.get(read, ()) for read in reads))):
            index = bisect_left(numbers, number)
            # there may be no such entry any more
            if index < len(numbers) and numbers[index] == number:
                found.append(index)
        return found

    def facts_that_read(self, read: Read) -> Iterable[Read]:
        """The facts that may have looked this up."""
        return self._facts.get(read, ())

    def facts_that_rest_on(self, reads: Iterable[Read]) -> set[Read]:
        """The facts that may have looked up one of these, or a fact that did, and so on."""
        found: set[Read] = set()
        waiting: Iterator[Read] = iter(reads)
        while new := set(chain.from_iterable(map(self.facts_that_read, waiting))) - found:
            found |= new
            waiting = iter(new)
        return found
