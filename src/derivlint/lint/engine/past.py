"""What was found in entries as they were a moment ago: they come back when an edit is undone, or a quote is closed.

What was found holds again where the entry has the same text, and all that was looked up has the same answers. Who is
asked about an entry looks up ten things on the average, so that the answers are cheap to compare.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from derivlint.lint.engine.found import Found
from derivlint.model.index import Row, Rows
from derivlint.model.model import RecordedFact
from derivlint.model.query import Read
from derivlint.yaml_reader.pieces import Cut

#: So many entries are remembered.
REMEMBERED = 64


class Answering(Struct, frozen=True):
    """What is looked up in a text, for who wants to know whether it would be answered alike in another one.

    Attributes:
        cut: the text.
        numbers: those of its entries.
        indexed: what indexes have of them.
        fact: finds a fact of the file as a whole; None where it is unknown.
    """

    cut: Cut
    numbers: Sequence[int]
    indexed: Mapping[str, list[Row]]
    fact: Callable[[Read], RecordedFact | None]

    def answers(self, found: Found, number: int) -> tuple[object, ...]:
        """The answers to all that was looked up.

        Args:
            found: what was found in an entry.
            number: that of the entry.
        """
        return tuple(self._answer(read, number) for read in found.reads)

    def _answer(self, read: Read, number: int) -> object:
        rows = self.indexed.get(read.source)
        if not isinstance(rows, Rows):
            fact = self.fact(read)
            # what cannot be found out is like nothing else
            return fact.value if fact is not None else object()
        items = rows.by_key.under(read.key)
        if not read.whole:
            # where the entry itself is among the others may count
            return [(value, other == number) for other, value in items]
        places = dict.fromkeys(other for other, _ in items)
        return [(self.cut.text_of(bisect_left(self.numbers, other)), other == number) for other in places]


class Remembered(Struct, frozen=True):
    """What was found in an entry, with the answers to all that was looked up."""

    found: Found
    answers: tuple[object, ...]


class Past:
    """What was found in entries as they were, by their texts."""

    def __init__(self, remembered: Mapping[str, Remembered] | None = None) -> None:
        """Take what is remembered."""
        self._remembered = dict(remembered or {})

    def copy(self) -> Past:
        """The same, for another text that follows."""
        return Past(self._remembered)

    def remember(self, text: str, found: Found, number: int, answering: Answering) -> None:
        """Remember what was found in an entry, if that moves with it.

        Args:
            text: its text.
            found: what was found.
            number: that of the entry.
            answering: the text of the file.
        """
        if found.is_inside:
            self._remembered.pop(text, None)
            self._remembered[text] = Remembered(found, answering.answers(found, number))
            if len(self._remembered) > REMEMBERED:
                del self._remembered[next(iter(self._remembered))]

    def recall(self, text: str, number: int, answering: Answering) -> Found | None:
        """What was found in an entry with a text, if all that was looked up has the same answers.

        Args:
            text: the text of the entry.
            number: that of the entry.
            answering: the text of the file.
        """
        known = self._remembered.get(text)
        if known is None or known.answers != answering.answers(known.found, number):
            return None
        return known.found
