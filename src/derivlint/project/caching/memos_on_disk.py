"""The memos of a file on disk: after an edit only what it can have changed is checked.

Stored are the newest text and its results. The answers in their traces are not: what an index answers follows from the
rows of the entries, and what a fact answers is its value. The bytes are MessagePack under a digest; whatever they are,
results have the right types, and their places lie in the entries that they are about, or they are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError, msgpack

from derivlint.lint.engine.incremental import EntryResult
from derivlint.lint.engine.precedence import Claim
from derivlint.model.index import IndexEntries, Plain, Row
from derivlint.model.memos import Dependency, EntryKey, Memo, Memos, Trace
from derivlint.project.caching.cache import read_entry, sealed, unsealed
from derivlint.source import Span, replace_file

#: The memos of the real file have 500 KB.
MAX_BYTES = 32 * 1024 * 1024


class _Result(Struct, array_like=True):
    """What was found in an entry, and the numbers of the dependencies of that."""

    claims: tuple[Claim, ...]
    start: int
    anchors: tuple[tuple[EntryKey, Span], ...]
    trace: tuple[int, ...]


class _Entry(Struct, array_like=True):
    """An entry: its text, the rows that each index has of it, its facts with their dependencies, and its result."""

    text: str
    rows: tuple[Row, ...]
    facts: dict[str, tuple[Plain, tuple[int, ...]]]
    result: _Result | None


class _Stored(Struct, array_like=True):
    """The memos of a text.

    Attributes:
        layout: the layout that the text gives away.
        indexes: the names of the indexes that rows belong to.
        dependencies: what was read anywhere.
        entries: the entries, in file order.
        facts: by the number of the fact, which is a dependency, its value with its own dependencies.
        file: the dependencies of the file as a whole, where nothing was found in it.
    """

    layout: str | None
    indexes: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    entries: tuple[_Entry, ...]
    facts: dict[int, tuple[Plain, tuple[int, ...]]]
    file: tuple[int, ...] | None


def store_memos(file: Path, memos: Memos) -> None:
    """Keep the memos of the newest text, where that is possible.

    Args:
        file: the file of the cache.
        memos: the memos, after a check.
    """
    try:
        data = sealed(msgpack.encode(_stored(memos)))
        if len(data) <= MAX_BYTES:
            replace_file(file, data, mode=0o600, durable=False)
    except (OSError, UnicodeEncodeError):
        # half a surrogate pair, as the name of a file can have, is not UTF-8
        return


def load_memos(file: Path, path: str) -> Memos:
    """The memos that a file of the cache holds; none where it holds something else.

    Args:
        file: the file of the cache.
        path: the path of the derivatives file that it is about.
    """
    data = read_entry(file, MAX_BYTES)
    body = unsealed(data) if data is not None else None
    if body is not None:
        try:
            return _memos(msgpack.decode(body, type=_Stored), path)
        except (DecodeError, ValidationError, RecursionError, LookupError, ValueError):
            pass
    return Memos()


def _stored(memos: Memos) -> _Stored:
    answers = _Answers(memos.indexed, {dependency: memo.value for dependency, memo in memos.facts.items()})
    numbers: dict[Dependency, int] = {}

    def numbered(trace: Trace) -> tuple[int, ...] | None:
        """The numbers of dependencies whose answers are those of the newest text; None for another trace."""
        try:
            if any(answers.of(dependency) != answer for dependency, answer in trace):
                return None
        except LookupError:
            return None
        return tuple([numbers.setdefault(dependency, len(numbers)) for dependency, _ in trace])

    entries = []
    for record in map(memos.entries.__getitem__, memos.newest):
        result = None
        for memo in record.results[:1]:
            trace = numbered(memo.trace)
            if trace is not None:
                result = _Result(memo.value.claims, memo.value.start, memo.value.anchors, trace)
        facts = {
            name: (memo.value, trace)
            for name, memo in record.facts.items()
            if (trace := numbered(memo.trace)) is not None
        }
        entries.append(
            _Entry(
                record.key[0], tuple([indexed.rows[record.key] for indexed in memos.indexed.values()]), facts, result
            )
        )
    of_file = numbered(memos.file.trace) if memos.file is not None and not memos.file.value else None
    of_facts = {
        numbers.setdefault(dependency, len(numbers)): (memo.value, trace)
        for dependency, memo in memos.facts.items()
        if (trace := numbered(memo.trace)) is not None
    }
    return _Stored(memos.layout, tuple(memos.indexed), tuple(numbers), tuple(entries), of_facts, of_file)


def _memos(stored: _Stored, path: str) -> Memos:
    """The memos of a text.

    Raises:
        LookupError: they do not fit together.
        ValueError: likewise.
    """
    memos = Memos()
    memos.begin(stored.layout)
    records = memos.entries_of(entry.text for entry in stored.entries)
    memos.newest = tuple([record.key for record in records])
    for at, name in enumerate(stored.indexes):
        rows = [entry.rows[at] for entry in stored.entries]
        memos.indexed[name] = IndexEntries.of(dict(zip(memos.newest, rows, strict=True)))
    answers = _Answers(memos.indexed, {stored.dependencies[at]: value for at, (value, _) in stored.facts.items()})
    edges = [(dependency, answers.of(dependency)) for dependency in stored.dependencies]

    def trace(numbers: Iterable[int]) -> Trace:
        return tuple([edges[number] for number in numbers])

    for record, entry in zip(records, stored.entries, strict=True):
        record.facts = {name: Memo(value, trace(numbers)) for name, (value, numbers) in entry.facts.items()}
        result = entry.result
        if result is not None:
            if any(claim.diagnostic.path != path or claim.diagnostic.elsewhere for claim in result.claims):
                raise ValueError(path)
            found = EntryResult(result.claims, result.start, result.anchors)
            record.results = (Memo(found, trace(result.trace)),)
    for number, (value, numbers) in stored.facts.items():
        memos.facts[stored.dependencies[number]] = Memo(value, trace(numbers))
    if stored.file is not None:
        memos.file = Memo((), trace(stored.file))
    memos.answers = {dependency: answer for dependency, answer in edges if dependency.source in memos.indexed}
    return memos


class _Answers:
    """The answers of dependencies in a text, from the rows of its entries and the values of its facts."""

    def __init__(self, indexed: Mapping[str, IndexEntries[EntryKey]], facts: Mapping[Dependency, Plain]) -> None:
        self._indexed = indexed
        self._facts = facts

    def of(self, dependency: Dependency) -> Plain:
        """The answer of a dependency.

        Raises:
            LookupError: it is neither an index nor a fact.
        """
        indexed = self._indexed.get(dependency.source)
        if indexed is None:
            return self._facts[dependency]
        return indexed.answer(dependency.key, is_whole=dependency.whole)
