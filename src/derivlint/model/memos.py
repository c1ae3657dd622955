"""Memos: results of earlier checks, with a trace of their reads that is compared by value.

A *dependency* is a read outside of an entry: the value of an index under a key, or a fact of the file. A *trace* is the
dependencies of a result with their answers, which are plain data. A *memo* is a result with its trace; it is valid in
any text in which all dependencies have the same answers. Memos share nothing with models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, field

from derivlint.model.index import IndexEntries, Plain, Row

V = TypeVar("V")
#: The text of an entry and the number of preceding entries with the same text.
EntryKey = tuple[str, int]
#: The maximum number of results per entry, so that an undo finds earlier ones.
MAX_RESULTS = 4
#: The maximum number of cached entries that the newest text lacks.
MAX_GONE = 64
#: The number of texts after which all answers are recomputed, to drop unused ones.
REFRESHED = 256


class Dependency(NamedTuple):
    """A read outside an entry.

    Attributes:
        source: the index or the fact.
        key: the key in the index, or the subject of the fact.
        whole: whether the answer is the texts of the entries under the key rather than their values in the index.
    """

    source: str
    key: str
    whole: bool = False


class Memo(Struct, Generic[V], frozen=True, gc=False):
    """A result with its trace.

    Attributes:
        value: the result.
        reads: its dependencies.
        answers: their answers, in the order of the set.
    """

    value: V
    reads: frozenset[Dependency]
    answers: tuple[Plain, ...]

    @property
    def trace(self) -> Iterable[tuple[Dependency, Plain]]:
        """The dependencies with their answers."""
        return zip(self.reads, self.answers, strict=True)


class EntryMemos(Struct):
    """The memos of an entry with a particular text.

    Attributes:
        key: the text and its occurrence number.
        seen_at: the newest revision that contains the entry.
        verified_at: the newest revision for which the first result is known to be valid.
        rows: the rows of the entry, by index.
        facts: the facts of the entry, by name.
        results: the findings of rules, newest first.
    """

    key: EntryKey
    seen_at: int = 0
    verified_at: int = 0
    rows: dict[str, Row] = field(default_factory=dict)
    facts: dict[str, Memo[Plain]] = field(default_factory=dict)
    results: tuple[Memo[Any], ...] = ()

    def add(self, memo: Memo[Any]) -> None:
        """Add the newest result, or move it to the front."""
        self.results = (memo, *(result for result in self.results if result is not memo))[:MAX_RESULTS]


class Memos:
    """The memos of one file, for checks with the same operators, rules and settings.

    Attributes:
        revision: the number of checked texts.
        layout: the name of the layout that keys of entries identify.
        entries: the memos of entries, by key.
        newest: the keys of the entries of the newest text, in file order.
        indexed: the entries of the newest text, by index.
        answers: the answers of dependencies in the newest text.
        facts: the facts of the file, by dependency.
        holding: the facts that are valid in the newest text, each after its dependencies.
        uncertain: the dependencies whose answers may have changed; None for all.
        file: the findings of file-wide rules, or None.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.layout: str | None = None
        self.entries: dict[EntryKey, EntryMemos] = {}
        self.newest: tuple[EntryKey, ...] = ()
        self.indexed: dict[str, IndexEntries[EntryKey]] = {}
        self.answers: dict[Dependency, Plain] = {}
        self.facts: dict[Dependency, Memo[Plain]] = {}
        self.holding: dict[Dependency, None] = {}
        self.uncertain: set[Dependency] | None = None
        self.file: Memo[Any] | None = None

    def begin(self, layout: str | None) -> None:
        """Begin a revision; drop all memos if the layout changed."""
        if layout != self.layout:
            self.entries, self.newest, self.facts, self.file, self.layout = {}, (), {}, None, layout
            self.forget_answers()
        self.revision += 1

    def forget_answers(self) -> None:
        """Drop all answers, so that they are recomputed."""
        self.indexed, self.answers, self.holding, self.uncertain = {}, {}, {}, None

    def has_text(self, text: str) -> bool:
        """Whether an entry has this text."""
        return (text, 0) in self.entries

    def entries_of(self, texts: Iterable[str]) -> list[EntryMemos]:
        """The records of the newest text's entries, in file order; creates those of new entries."""
        counts: dict[str, int] = {}
        records: list[EntryMemos] = []
        for text in texts:
            occurrence = counts.get(text, 0)
            counts[text] = occurrence + 1
            key = (text, occurrence)
            record = self.entries.get(key)
            if record is None:
                record = self.entries[key] = EntryMemos(key)
            record.seen_at = self.revision
            records.append(record)
        return records

    def advance(self, records: Sequence[EntryMemos], row: Callable[[str, int], Row]) -> None:
        """Carry over answers from the previous text unless new or removed entries affect them.

        Args:
            records: the entries, in file order.
            row: computes the row of an index for the entry at a position.
        """
        before, self.newest = self.newest, tuple([record.key for record in records])
        positions = {key: at for at, key in enumerate(self.newest)}
        then = dict.fromkeys(before)
        gone = [key for key in before if key not in positions]
        new = [key for key in self.newest if key not in then]
        is_moved = [key for key in then if key in positions] != [key for key in self.newest if key in then]
        # moved entries change only the order of rows
        if is_moved or not self.indexed:
            self.forget_answers()
            return
        changed: set[tuple[str, str]] = set()
        for name, indexed in self.indexed.items():
            old_rows = [(key, self.entries[key].rows[name]) for key in gone]
            new_rows = [(key, row(name, positions[key])) for key in new]
            changed.update((name, key) for _, entry_row in (*old_rows, *new_rows) for key, _ in entry_row)
            self.indexed[name] = indexed.replaced(old_rows, new_rows, positions)
        uncertain = self.uncertain = {Dependency(*index_key, whole) for index_key in changed for whole in (False, True)}
        for fact in [*self.holding]:
            if not uncertain.isdisjoint(self.facts[fact].reads):
                uncertain.add(fact)
                del self.holding[fact]
        for dependency in uncertain:
            self.answers.pop(dependency, None)

    def add_fact(self, dependency: Dependency, memo: Memo[Plain]) -> None:
        """Add a valid fact of the newest text, after the facts it depends on."""
        self.facts[dependency] = memo
        self.holding.pop(dependency, None)
        self.holding[dependency] = None

    def end(self) -> None:
        """End a revision: drop entries that have long been unused."""
        gone = [record for record in self.entries.values() if record.seen_at != self.revision]
        gone.sort(key=lambda record: -record.seen_at)
        for record in gone[MAX_GONE:]:
            del self.entries[record.key]
        if self.revision % REFRESHED == 0:
            self.facts = {dependency: self.facts[dependency] for dependency in self.holding}
            self.forget_answers()
