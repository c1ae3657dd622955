"""Memos: results of earlier checks with the trace of what they read, which is compared by value.

A *dependency* is something that was read outside of an entry: what an index has under a key, or a fact of the file.
A *trace* is the dependencies of a result with their answers, which are plain data. A *memo* is a result with its trace:
it holds in any text in which all dependencies have the same answers. Memos share nothing with models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, field

from derivlint.model.index import IndexEntries, Plain, Row

V = TypeVar("V")
#: The text of an entry, and how many entries with the same text come before it.
EntryKey = tuple[str, int]
#: So many results are kept of an entry, for undone edits.
MAX_RESULTS = 4
#: So many entries are kept that the newest text does not have.
MAX_GONE = 64
#: After so many texts all answers are found out anew, so that those go that nothing depends on any more.
REFRESHED = 256


class Dependency(NamedTuple):
    """Something that is read in the file as a whole.

    Attributes:
        source: the index or the fact.
        key: the key in the index, or what the fact is about.
        whole: whether the answer is the texts of the entries under the key, not only their values in the index.
    """

    source: str
    key: str
    whole: bool = False


#: Dependencies with their answers.
Trace = tuple[tuple[Dependency, Plain], ...]


class Memo(Struct, Generic[V], frozen=True, gc=False):
    """A result with its trace."""

    value: V
    trace: Trace


class EntryMemos(Struct):
    """Everything known of an entry with one text.

    Attributes:
        key: the text with its occurrence.
        verified_at: the newest revision that has the entry.
        facts: the facts of the entry, by name.
        results: what rules found, newest first.
    """

    key: EntryKey
    verified_at: int = 0
    facts: dict[str, Memo[Plain]] = field(default_factory=dict)
    results: tuple[Memo[Any], ...] = ()

    def add(self, memo: Memo[Any]) -> None:
        """Add the newest result, or make it the newest one again."""
        self.results = (memo, *(known for known in self.results if known is not memo))[:MAX_RESULTS]


class Memos:
    """The memos of one file, for checks with the same operators, rules and settings.

    Attributes:
        revision: the number of texts that were checked.
        layout: the name of the layout that the texts give away.
        entries: by key.
        newest: the keys of the entries of the newest text, in file order.
        indexed: its entries by each index that was asked.
        answers: what indexes answer in it, as far as that was needed.
        facts: the facts of the file, each after those that it is made of.
        file: what rules for the file as a whole found; None where that has to be found again.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.layout: str | None = None
        self.entries: dict[EntryKey, EntryMemos] = {}
        self.newest: tuple[EntryKey, ...] = ()
        self.indexed: dict[str, IndexEntries[EntryKey]] = {}
        self.answers: dict[Dependency, Plain] = {}
        self.facts: dict[Dependency, Memo[Plain]] = {}
        self.file: Memo[Any] | None = None

    def begin(self, layout: str | None) -> None:
        """Begin a revision; a text with another layout is read in another way."""
        if layout != self.layout:
            self.entries, self.facts, self.file, self.layout = {}, {}, None, layout
            self.forget_answers()
        self.revision += 1

    def forget_answers(self) -> None:
        """Find all answers out anew in the next text."""
        self.newest, self.indexed, self.answers = (), {}, {}

    def has_text(self, text: str) -> bool:
        """Whether an entry with this text is known."""
        return (text, 0) in self.entries

    def entries_of(self, texts: Iterable[str]) -> list[EntryMemos]:
        """The records of the entries of the text that is newest now, in file order; new ones for new entries."""
        counts: dict[str, int] = {}
        records: list[EntryMemos] = []
        for text in texts:
            occurrence = counts.get(text, 0)
            counts[text] = occurrence + 1
            key = (text, occurrence)
            record = self.entries.get(key)
            if record is None:
                record = self.entries[key] = EntryMemos(key)
            record.verified_at = self.revision
            records.append(record)
        return records

    def add_fact(self, dependency: Dependency, memo: Memo[Plain]) -> None:
        """Add a fact, after those that it is made of."""
        self.facts.pop(dependency, None)
        self.facts[dependency] = memo

    def advance(self, keys: Sequence[EntryKey], row: Callable[[str, EntryKey], Row]) -> None:
        """Make what is known of the text before that of the newest one, as far as entries are not new or gone.

        Args:
            keys: the entries, in file order.
            row: finds the row that an index has of an entry.
        """
        before, self.newest = self.newest, tuple(keys)
        position = {key: at for at, key in enumerate(keys)}
        then = dict.fromkeys(before)
        if [key for key in before if key in position] != [key for key in keys if key in then]:
            # entries have moved past others
            self.indexed, self.answers = {}, {}
        gone = [key for key in before if key not in position]
        new = [key for key in keys if key not in then]
        changed: set[tuple[str, str]] = set()
        for name, indexed in self.indexed.items():
            rows = {key: row(name, key) for key in new}
            changed.update((name, key) for each in rows.values() for key, _ in each)
            changed.update((name, key) for each in gone for key, _ in indexed.rows[each])
            self.indexed[name] = indexed.replaced(gone, rows, position.__getitem__)
        self.answers = {each: answer for each, answer in self.answers.items() if each[:2] not in changed}

    def end(self, answers: Mapping[Dependency, Plain]) -> None:
        """End a revision that was checked to its end: drop what was not needed for long.

        Args:
            answers: the answers of dependencies in the text.
        """
        self.facts = {dependency: memo for dependency, memo in self.facts.items() if dependency in answers}
        self.answers = {each: answer for each, answer in answers.items() if each not in self.facts}
        gone = [record for record in self.entries.values() if record.verified_at != self.revision]
        gone.sort(key=lambda record: -record.verified_at)
        for record in gone[MAX_GONE:]:
            del self.entries[record.key]
        if self.revision % REFRESHED == 0:
            self.answers = {}
