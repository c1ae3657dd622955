"""Indexes of entries: the only way to get from one entry of a file to another.

An index maps each entry to keys, each with a plain-data value. Results that read only the values do not depend on other
parts of the entries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, Generic, TypeVar

from msgspec import Struct

from derivlint.model.entry import Entry
from derivlint.model.resolve import SchemaProblemKind
from derivlint.schema import NativeFunction, OperatorName, SchemaKind
from derivlint.schema.syntax.names import WITHOUT_RETURNS

K = TypeVar("K", bound=Hashable)
V_co = TypeVar("V_co", covariant=True)
#: The value type of an index without values.
Nothing = tuple[()]
#: Serializable data of facts and indexes.
Plain = bool | int | str | None | tuple[Any, ...]
#: The keys and values of one entry in an index.
Row = tuple[tuple[str, Plain], ...]


class EntryIndex(Struct, Generic[V_co], frozen=True):
    """A function that maps entries to keys.

    Attributes:
        name: the name of the variable that holds it, ``module:variable``.
        find: computes the keys and values of an entry, from the entry and the operators only.
    """

    name: str
    find: Callable[[Entry], Iterable[tuple[str, V_co]]]

    def __post_init__(self) -> None:
        INDEXES[self.name] = self

    def __hash__(self) -> int:
        return hash(self.name)


#: The indexes of the loaded modules, by name.
INDEXES: dict[str, EntryIndex[Any]] = {}


def index_named(name: str) -> EntryIndex[Any] | None:
    """Return an index by name, or None; imports its module if necessary."""
    load_module_of(name)
    return INDEXES.get(name)


def load_module_of(name: str) -> None:
    """Import the module of a name such as ``derivlint.model.index:BY_BASE`` if it belongs to this package."""
    module = name.partition(":")[0]
    if module.startswith("derivlint.") and module not in sys.modules:
        with suppress(ImportError):
            import_module(module)


class IndexEntries(Struct, Generic[K], frozen=True):
    """The entries of a text by index key; consecutive texts share most of it.

    Attributes:
        by_key: the entries under each key, in file order, each with its value.
    """

    by_key: dict[str, tuple[tuple[K, Any], ...]]

    @classmethod
    def of(cls, rows: Iterable[tuple[K, Row]]) -> IndexEntries[K]:
        """Index entries by their rows."""
        by_key: dict[str, list[tuple[K, Any]]] = {}
        for entry, row in rows:
            for key, value in row:
                by_key.setdefault(key, []).append((entry, value))
        return cls({key: tuple(items) for key, items in by_key.items()})

    def under(self, key: str) -> tuple[tuple[K, Any], ...]:
        """The entries under a key with their values, in file order; an entry may repeat a key."""
        return self.by_key.get(key, ())

    def answer(self, key: str, *, whole: bool) -> Plain:
        """The answer to a dependency: the texts of the entries under a key, or their values.

        Args:
            key: the key.
            whole: whether the answer is the texts rather than the values.
        """
        items: tuple[tuple[Any, Any], ...] = self.under(key)
        if whole:
            return tuple([text for text, _ in dict.fromkeys([entry for entry, _ in items])])
        return tuple([value for _, value in items])

    def replaced(
        self, gone: Iterable[tuple[K, Row]], new: Iterable[tuple[K, Row]], positions: Mapping[K, int]
    ) -> IndexEntries[K]:
        """Return the entries of the next text; surviving entries keep their order.

        Args:
            gone: the entries that the next text lacks, with their rows.
            new: the entries that only the next text has, with their rows.
            positions: the positions of all entries in the next text.
        """
        by_key = self.by_key.copy()
        for entry, row in gone:
            for key, _ in row:
                by_key[key] = tuple([item for item in by_key[key] if item[0] != entry])
        for entry, row in new:
            for key, value in row:
                items = (*by_key.get(key, ()), (entry, value))
                by_key[key] = tuple(sorted(items, key=lambda item: positions[item[0]]))
        return IndexEntries(by_key)


def _by_base(entry: Entry) -> Iterator[tuple[str, Nothing]]:
    if entry.function is not None:
        yield entry.function.canonical.name.base, ()


def _by_schema(entry: Entry) -> Iterator[tuple[str, bool]]:
    if entry.function is not None:
        yield entry.function.canonical.key, bool(entry.bodies)


def _by_signature(entry: Entry) -> Iterator[tuple[str, tuple[str, bool]]]:
    if entry.function is not None:
        function = entry.function.canonical
        yield signature_key(function.schema.kind is SchemaKind.functional, function), (function.key, bool(entry.bodies))


def signature_key(is_functional: bool, function: NativeFunction) -> str:
    """A key of :data:`BY_SIGNATURE`.

    Args:
        is_functional: whether the entries' functions modify no argument.
        function: a function with their signature, regardless of defaults.
    """
    kind = "functional" if is_functional else "modifying"
    return f"{kind} {function.namespace} {function.schema.signature_key_no_defaults}"


def _by_operator(entry: Entry) -> Iterator[tuple[str, bool]]:
    yield entry.operator or "", entry.function is not None


def _unresolved(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.schema_problem is not None:
        yield "", entry.operator or ""


def _outdated(entry: Entry) -> Iterator[tuple[str, Nothing]]:
    problem = entry.schema_problem
    if problem is None or entry.operator is None or entry.operators is None:
        return
    is_cut = problem.mistake is not None and problem.mistake.message == WITHOUT_RETURNS
    base = OperatorName.parse(entry.operator).base
    if (is_cut or problem.kind is SchemaProblemKind.UNKNOWN) and entry.operators.natives.with_base(base):
        yield "", ()


def _by_node(entry: Entry) -> Iterator[tuple[str, Nothing]]:
    for body in entry.bodies:
        if body.info is not None and body.info.prefix is not None:
            yield body.info.prefix, ()


def _foreach(entry: Entry) -> Iterator[tuple[str, Nothing]]:
    if entry.function is not None and entry.function.canonical.name.is_foreach:
        yield "", ()


def _formulas(entry: Entry) -> Iterator[tuple[str, int]]:
    yield "", sum(len(body.formulas) for body in entry.bodies)


#: All entries under a single key; the value is the number of formulas.
FORMULAS: EntryIndex[int] = EntryIndex(f"{__name__}:FORMULAS", _formulas)
#: The entries of all overloads of an operator, by its base name.
BY_BASE: EntryIndex[Nothing] = EntryIndex(f"{__name__}:BY_BASE", _by_base)
#: The entries by key of their functions; the value is whether they have formulas.
BY_SCHEMA: EntryIndex[bool] = EntryIndex(f"{__name__}:BY_SCHEMA", _by_schema)
#: The entries by signature of their functions; the value is the key, and whether they have formulas.
BY_SIGNATURE: EntryIndex[tuple[str, bool]] = EntryIndex(f"{__name__}:BY_SIGNATURE", _by_signature)
#: The entries by operator as written; the value is whether it resolves.
BY_OPERATOR: EntryIndex[bool] = EntryIndex(f"{__name__}:BY_OPERATOR", _by_operator)
#: The entries with unresolved schemas, under a single key; the value is the operator as written.
UNRESOLVED: EntryIndex[str] = EntryIndex(f"{__name__}:UNRESOLVED", _unresolved)
#: The entries whose schemas differ from the named operator's or lack returns, under a single key.
OUTDATED: EntryIndex[Nothing] = EntryIndex(f"{__name__}:OUTDATED", _outdated)
#: The entries by name of their nodes, without numbers.
BY_NODE: EntryIndex[Nothing] = EntryIndex(f"{__name__}:BY_NODE", _by_node)
#: The entries of foreach operators, under a single key.
FOREACH: EntryIndex[Nothing] = EntryIndex(f"{__name__}:FOREACH", _foreach)
