"""Memoized queries on a file, with recorded dependencies.

Each answer is computed once, and all reads outside the entry are recorded: entries by key
(:class:`~derivlint.model.index.EntryIndex`), and facts of the file (:mod:`derivlint.model.memos`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from derivlint.model.entry import Entry
from derivlint.model.index import INDEXES, EntryIndex, IndexEntries, Plain, Row, index_named
from derivlint.model.memos import Dependency, EntryMemos, Memo, Memos
from derivlint.operators import Book
from derivlint.schema import NativeFunctions

T = TypeVar("T")
V = TypeVar("V")
A = TypeVar("A", bound="Answers")
P = ParamSpec("P")
#: The marker of a missing answer.
_UNKNOWN = object()
#: A function that computes a fact of the file about a named subject.
FindFact = Callable[[Any, str], Any]
FindFactT = TypeVar("FindFactT", bound=FindFact)
#: The fact functions of the loaded modules, by name.
FACTS: dict[str, FindFact] = {}


def file_fact(find: FindFactT) -> FindFactT:
    """Register a function that computes a fact of the file, so that memos can refer to it by name."""
    FACTS[name_of(find)] = find
    return find


def name_of(find: Callable[..., object]) -> str:
    """The name of a function, ``module:function``."""
    return f"{find.__module__}:{find.__qualname__}"


def query(find: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[A, P], T]:
    """Memoize a method of :class:`Answers` by its arguments, with its dependencies."""

    @wraps(find)
    def answer(self: A, /, *args: P.args, **_: P.kwargs) -> T:
        return self.ask(find, self, *args)

    return answer


class Answers:
    """The answers about one text, with their dependencies.

    Attributes:
        natives: the operators.
        book: the operator book at their release.
        memos: the memos of earlier texts, or None if reads are not recorded.
        entries: the entries of the text; the index of an entry is its position here.
        records: the memos of the entries.
        active: the dependencies of the current answer, including those of answers that it uses.
    """

    natives: NativeFunctions
    book: Book

    def __init__(self, memos: Memos | None) -> None:
        self.memos = memos
        self.entries: Sequence[Entry] = ()
        self.records: Sequence[EntryMemos] = ()
        self._answers: dict[tuple[Hashable, ...], tuple[Any, frozenset[Dependency]]] = {}
        #: equal sets are shared, so that unions are rarely computed
        self._sets: dict[frozenset[Dependency], frozenset[Dependency]] = {}
        self._single: dict[Dependency, frozenset[Dependency]] = {}
        self.active: dict[int, frozenset[Dependency]] | None = None
        self._indexed: dict[str, IndexEntries[Any]] = {}
        self._entries_in: dict[tuple[str, str], tuple[Entry, ...]] = {}
        #: the answers of dependencies in this text
        self._evaluated: dict[Dependency, Plain] = {}
        #: the facts under computation or verification
        self._open: set[Dependency] = set()
        #: the computed facts of entries, by position
        self._entry_facts: dict[tuple[str, int], tuple[Plain, frozenset[Dependency]]] = {}
        #: the keys of entries in indexes
        self._keys: Sequence[Any] = ()
        self._positions: Mapping[Any, int] | Sequence[int] = ()

    @property
    def shares_foreach(self) -> bool:
        """Whether foreach operators use the formulas of the operators that they apply to each tensor."""
        raise NotImplementedError

    # ---- recording

    def ask(self, find: Callable[..., T], *subject: Hashable) -> T:
        """Return the memoized result of a function.

        Args:
            find: a pure function of its arguments, this text and the operators.
            subject: its arguments.
        """
        question = (find, *subject)
        cached = self._answers.get(question)
        if cached is None:
            cached = self._answers[question] = self.recorded(find, *subject)
        answer, dependencies = cached
        if dependencies:
            # :meth:`use` inlined: this is the hottest function
            if self.active is None:
                self.active = {id(dependencies): dependencies}
            else:
                self.active[id(dependencies)] = dependencies
        return answer  # type: ignore[no-any-return]

    def use(self, dependencies: frozenset[Dependency]) -> None:
        """Record that an answer with these dependencies is used."""
        if self.active is None:
            self.active = {id(dependencies): dependencies}
        else:
            self.active[id(dependencies)] = dependencies

    def record(self, dependency: Dependency) -> None:
        """Record a dependency."""
        if self.memos is None:
            return
        single = self._single.get(dependency)
        if single is None:
            single = self._single[dependency] = frozenset((dependency,))
        self.use(single)

    def recorded(self, find: Callable[..., T], *subject: object) -> tuple[T, frozenset[Dependency]]:
        """Compute a result; return it with its dependencies."""
        outer, self.active = self.active, None
        try:
            answer = find(*subject)
            return answer, self.dependencies()
        finally:
            self.active = outer

    def dependencies(self) -> frozenset[Dependency]:
        """Return the dependencies recorded since the last call, or since the current answer began."""
        active, self.active = self.active, None
        if active is None:
            return _NOTHING
        if len(active) == 1:
            return next(iter(active.values()))
        joined = _NOTHING.union(*active.values())
        return self._sets.setdefault(joined, joined)

    # ---- the file as a whole

    def entries_in(self, index: EntryIndex[Any], key: str) -> tuple[Entry, ...]:
        """The entries under a key of an index, in file order."""
        self.record(Dependency(index.name, key, True))
        entries = self._entries_in.get((index.name, key))
        if entries is None:
            positions = dict.fromkeys(self._positions[entry_key] for entry_key, _ in self.indexed(index).under(key))
            entries = self._entries_in[index.name, key] = tuple([self.entries[at] for at in positions])
        return entries

    def values_in(self, index: EntryIndex[V], key: str) -> list[V]:
        """The values under a key of an index, in file order."""
        self.record(Dependency(index.name, key))
        return [value for _, value in self.indexed(index).under(key)]

    def indexed(self, index: EntryIndex[Any]) -> IndexEntries[Any]:
        """The entries of an index; the caller records its reads."""
        indexed = self._indexed.get(index.name)
        if indexed is None:
            indexed = IndexEntries.of(zip(self._keys, self.rows_of(index), strict=True))
            self._indexed[index.name] = indexed
            if self.memos is not None:
                self.memos.indexed[index.name] = indexed
        return indexed

    def rows_of(self, index: EntryIndex[Any]) -> list[Row]:
        """The rows of all entries, in file order; the caller records its reads."""
        return [self._row(index.name, at) for at in range(len(self.entries))]

    def _row(self, name: str, position: int) -> Row:
        rows = self.records[position].rows if self.records else {}
        row = rows.get(name)
        if row is None:
            row = rows[name] = cast("Row", tuple(INDEXES[name].find(self.entries[position])))
        return row

    def _carry_over(self, memos: Memos, texts: Iterable[str]) -> None:
        """Carry over the previous text's answers that new and removed entries do not affect."""
        self.records = memos.entries_of(texts)
        self._keys = [record.key for record in self.records]
        self._positions = {key: at for at, key in enumerate(self._keys)}
        try:
            memos.indexed = {name: indexed for name, indexed in memos.indexed.items() if index_named(name) is not None}
            memos.advance(self.records, self._row)
        except Exception:
            # the rules that need it will crash too, and be reported
            memos.forget_answers()
        self._indexed, self._evaluated = memos.indexed.copy(), memos.answers.copy()

    def fact(self: A, find: Callable[[A, str], V], key: str = "") -> V:
        """A fact of the file: plain data that edits seldom change.

        Args:
            find: computes it.
            key: its subject.
        """
        dependency = Dependency(name_of(find), key)
        self.record(dependency)
        if dependency not in self._evaluated and not self._is_verified(dependency):
            is_outer = dependency not in self._open
            self._open.add(dependency)
            try:
                value, dependencies = self.recorded(find, self, key)
            finally:
                if is_outer:
                    self._open.discard(dependency)
            self._answered(dependency, cast("Plain", value))
            if self.memos is not None:
                self.memos.add_fact(dependency, self.memo(cast("Plain", value), dependencies))
        return cast("V", self._evaluated[dependency])

    def _is_verified(self, dependency: Dependency) -> bool:
        """Whether a fact of an earlier text is valid in this one; records it if so."""
        memo = self.memos.facts.get(dependency) if self.memos is not None else None
        if self.memos is None or memo is None or dependency in self._open:
            return False
        self._open.add(dependency)
        try:
            holds = self.holds(memo)
        finally:
            self._open.discard(dependency)
        if holds and dependency not in self._evaluated:
            self._answered(dependency, memo.value)
            self.memos.add_fact(dependency, memo)
        return dependency in self._evaluated

    def entry_fact(self: A, find: Callable[[A, Entry], V], position: int) -> V:
        """A fact of one entry: plain data.

        Args:
            find: computes it.
            position: the position of the entry, which is not read if the fact is memoized.
        """
        name = name_of(find)
        cached = self._entry_facts.get((name, position))
        if cached is None:
            memo = self.records[position].facts.get(name) if self.memos is not None else None
            if memo is not None and self.holds(memo):
                cached = memo.value, memo.reads
            else:
                value, dependencies = self.recorded(find, self, self.entries[position])
                cached = cast("Plain", value), dependencies
                if self.memos is not None:
                    self.records[position].facts[name] = self.memo(cached[0], dependencies)
            self._entry_facts[name, position] = cached
        if cached[1]:
            self.use(cached[1])
        return cast("V", cached[0])

    def memo(self, value: V, reads: frozenset[Dependency]) -> Memo[V]:
        """Make a memo of a result with the answers of its dependencies in this text."""
        return Memo(value, reads, tuple([cast("Plain", self.answer(dependency)) for dependency in reads]))

    def holds(self, memo: Memo[Any]) -> bool:
        """Whether every dependency of a memo has the same answer in this text."""
        evaluated = self._evaluated
        for dependency, answer in memo.trace:
            now = evaluated.get(dependency, _UNKNOWN)
            if now is _UNKNOWN:
                now = self.answer(dependency)
            if now is not answer and now != answer:
                return False
        return True

    def _answered(self, dependency: Dependency, answer: Plain) -> None:
        self._evaluated[dependency] = answer
        if self.memos is not None:
            self.memos.answers[dependency] = answer

    def answer(self, dependency: Dependency) -> object:
        """The answer of a dependency in this text, or a unique object if there is none."""
        if dependency not in self._evaluated:
            outer, self.active = self.active, None
            try:
                self._answered(dependency, self._answer(dependency))
            except Exception:
                # a rule that needs it will crash too, and be reported
                return object()
            finally:
                self.active = outer
        return self._evaluated[dependency]

    def _answer(self, dependency: Dependency) -> Plain:
        source, key, whole = dependency
        index = INDEXES.get(source) or index_named(source)
        if index is not None:
            return self.indexed(index).answer(key, whole=whole)
        find = FACTS.get(source)
        if find is None or dependency in self._open:
            raise LookupError(source)
        return cast("Plain", self.fact(find, key))

    def end_revision(self) -> None:
        """Release the memos: later results are not recorded."""
        if self.memos is not None:
            self.memos.end()
        self.memos = None


_NOTHING: frozenset[Dependency] = frozenset()
