"""The memos of a file on disk: after an edit, only affected entries are checked.

The newest text and its results are stored without the answers in their traces: answers of an index follow from the rows
of the entries, the answer of a fact is its value. The file is MessagePack with a digest; results are used only if they
have the right types and spans inside their entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from msgspec import DecodeError, Struct, ValidationError, msgpack

from derivlint.lint.engine.incremental import EntryResult
from derivlint.lint.engine.precedence import RawFinding
from derivlint.model.index import IndexEntries, Plain, Row
from derivlint.model.memos import Dependency, EntryKey, Memo, Memos
from derivlint.project.caching.cache import read_entry, sealed, unsealed
from derivlint.source import Span, replace_file

V = TypeVar("V")
_UNKNOWN = object()
#: The maximum size of a file; the memos of PyTorch's file take 500 KB.
MAX_BYTES = 32 * 1024 * 1024


class _Result(Struct, array_like=True):
    """The result of an entry, and the numbers of its dependencies."""

    findings: tuple[RawFinding, ...]
    start: int
    anchors: tuple[tuple[EntryKey, Span], ...]
    reads: tuple[int, ...]


class _Entry(Struct, array_like=True):
    """An entry: its text, its rows by index, its facts with their dependencies, and its result."""

    text: str
    rows: tuple[Row, ...]
    facts: dict[str, tuple[Plain, tuple[int, ...]]]
    result: _Result | None


class _Stored(Struct, array_like=True):
    """The memos of a text.

    Attributes:
        layout: the layout that keys of the text identify.
        indexes: the names of the indexes of rows.
        dependencies: all dependencies.
        entries: the entries, in file order.
        facts: for each fact, the number of its dependency, its value, and its own dependencies, which come before it.
        file: the dependencies of the rules for the file as a whole, if they had no findings.
    """

    layout: str | None
    indexes: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    entries: tuple[_Entry, ...]
    facts: tuple[tuple[int, Plain, tuple[int, ...]], ...]
    file: tuple[int, ...] | None


def store_memos(file: Path, memos: Memos) -> None:
    """Store the memos of the newest text, if possible.

    Args:
        file: the file of the cache.
        memos: the memos, after a check.
    """
    try:
        data = sealed(msgpack.encode(_stored(memos)))
        if len(data) <= MAX_BYTES:
            replace_file(file, data, mode=0o600, durable=False)
    except (OSError, UnicodeEncodeError):
        # a lone surrogate, as in a file name, is not UTF-8
        return


def load_memos(file: Path, path: str) -> Memos:
    """Load memos from a file of the cache, or return empty ones if it is missing or has another form.

    Args:
        file: the file of the cache.
        path: the path of the derivatives file.
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
    numbers: dict[Dependency, int] = {}

    def numbered(memo: Memo[Any]) -> tuple[int, ...] | None:
        """Return the numbers of a result's dependencies, or None if it is not valid in the newest text."""
        if any(memos.answers.get(dependency, _UNKNOWN) != answer for dependency, answer in memo.trace):
            return None
        return tuple([numbers.setdefault(dependency, len(numbers)) for dependency in memo.reads])

    entries = []
    for record in map(memos.entries.__getitem__, memos.newest):
        result = None
        if record.results and (reads := numbered(record.results[0])) is not None:
            entry_result: EntryResult = record.results[0].value
            result = _Result(entry_result.findings, entry_result.start, entry_result.anchors, reads)
        facts = {
            name: (memo.value, reads) for name, memo in record.facts.items() if (reads := numbered(memo)) is not None
        }
        entries.append(_Entry(record.key[0], tuple([record.rows[name] for name in memos.indexed]), facts, result))
    of_file = numbered(memos.file) if memos.file is not None and not memos.file.value else None
    of_facts = []
    for dependency in memos.holding:
        reads = numbered(memos.facts[dependency])
        if reads is not None:
            of_facts.append((numbers.setdefault(dependency, len(numbers)), memos.facts[dependency].value, reads))
    return _Stored(memos.layout, tuple(memos.indexed), tuple(numbers), tuple(entries), tuple(of_facts), of_file)


def _memos(stored: _Stored, path: str) -> Memos:
    """Decode the memos of a text.

    Raises:
        LookupError: the stored memos are inconsistent.
        ValueError: likewise.
    """
    memos = Memos()
    memos.begin(stored.layout)
    records = memos.entries_of(entry.text for entry in stored.entries)
    memos.newest = tuple([record.key for record in records])
    for record, entry in zip(records, stored.entries, strict=True):
        record.rows = dict(zip(stored.indexes, entry.rows, strict=True))
    for name in stored.indexes:
        memos.indexed[name] = IndexEntries.of((record.key, record.rows[name]) for record in records)
    facts = {stored.dependencies[number]: value for number, value, _ in stored.facts}
    for dependency in stored.dependencies:
        indexed = memos.indexed.get(dependency.source)
        memos.answers[dependency] = (
            indexed.answer(dependency.key, whole=dependency.whole) if indexed is not None else facts[dependency]
        )

    def memo(value: V, numbers: Iterable[int]) -> Memo[V]:
        reads = frozenset([stored.dependencies[number] for number in numbers])
        return Memo(value, reads, tuple([memos.answers[dependency] for dependency in reads]))

    for number, value, reads in stored.facts:
        memos.add_fact(stored.dependencies[number], memo(value, reads))
    for record, entry in zip(records, stored.entries, strict=True):
        record.facts = {name: memo(value, reads) for name, (value, reads) in entry.facts.items()}
        result = entry.result
        if result is not None:
            if any(raw.diagnostic.path != path or raw.diagnostic.elsewhere for raw in result.findings):
                raise ValueError(path)
            entry_result = EntryResult(result.findings, result.start, result.anchors)
            record.results, record.verified_at = (memo(entry_result, result.reads),), memos.revision
    if stored.file is not None:
        memos.file = memo((), stored.file)
    return memos
