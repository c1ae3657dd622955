"""Entries by what others look them up by: the one way from one entry of a file to another.

An index says of each entry under which keys it is found, and a value of plain data under each. Who needs no more than
the values is not concerned by other changes of those entries.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, TypeVar

from msgspec import Struct

from derivlint.model.entry import Entry
from derivlint.schema import SchemaKind

V_co = TypeVar("V_co", covariant=True)
#: The value under a key where only the entries are of interest.
Nothing = tuple[()]
#: What facts and indexes hold, so that it can be kept on disk.
Plain = bool | int | str | None | tuple[Any, ...]
#: What an index has of one entry.
Row = tuple[tuple[str, Plain], ...]


class EntryIndex(Struct, Generic[V_co], frozen=True):
    """A way to find entries.

    Attributes:
        name: the name of the variable that holds it, ``module:variable``.
        find: the keys under which an entry is found, with a value of plain data under each; it looks at nothing but
            the entry and the operators.
    """

    name: str
    find: Callable[[Entry], Iterable[tuple[str, V_co]]]

    def __post_init__(self) -> None:
        INDEXES[self.name] = self

    def __hash__(self) -> int:
        return hash(self.name)


#: The indexes of the modules that are loaded, by name.
INDEXES: dict[str, EntryIndex[Any]] = {}


def index_named(name: str) -> EntryIndex[Any] | None:
    """The index of a name, whose module is loaded if it has to be; None where there is none."""
    load_module_of(name)
    return INDEXES.get(name)


def load_module_of(name: str) -> None:
    """Load the module of a name such as ``derivlint.model.index:BY_BASE``, if it is one of this package."""
    module = name.partition(":")[0]
    if module.startswith("derivlint.") and module not in sys.modules:
        with suppress(ImportError):
            import_module(module)


#: Entries that are read together have numbers so far apart, that there is room for others between them.
SPACING = 1 << 48


def first_numbers(count: int) -> range:
    """The numbers of entries of a text that follows no other one.

    Numbers grow in file order, and an entry keeps its own as long as its text stays the same.
    """
    return range(0, count * SPACING, SPACING)


class Rows(list[Row]):
    """What an index has of each entry, in file order; it does not change.

    Attributes:
        numbers: those of the entries, see ``Model.numbers``.
    """

    def __init__(self, rows: Iterable[Row], numbers: Sequence[int]) -> None:
        super().__init__(rows)
        self.numbers = numbers

    @cached_property
    def by_key(self) -> dict[str, list[tuple[int, Any]]]:
        """The numbers of entries with what the index has of them, under each key, in file order."""
        found: dict[str, list[tuple[int, Any]]] = {}
        for number, row in zip(self.numbers, self, strict=True):
            for key, value in row:
                found.setdefault(key, []).append((number, value))
        return found

    def replaced(self, rows: list[Row], gone: Iterable[int], new: Iterable[int], numbers: Sequence[int]) -> Rows:
        """The rows of a later text; what is known under keys stays known.

        Args:
            rows: the rows.
            gone: the positions of entries of this text that the later one does not have.
            new: the positions of entries of the later text that this one does not have.
            numbers: those of the entries of the later text.
        """
        found = Rows(rows, numbers)
        if "by_key" not in self.__dict__:
            return found
        by_key = found.__dict__["by_key"] = self.by_key.copy()
        copied: set[str] = set()

        def items_under(key: str) -> list[tuple[int, Any]]:
            if key not in copied:
                copied.add(key)
                by_key[key] = by_key.get(key, []).copy()
            return by_key[key]

        for at in gone:
            number = self.numbers[at]
            for key, _ in self[at]:
                items = items_under(key)
                start = bisect_left(items, number, key=number_of)
                del items[start : bisect_right(items, number, start, key=number_of)]
        for at in new:
            for key, value in rows[at]:
                items = items_under(key)
                items.insert(bisect_right(items, numbers[at], key=number_of), (numbers[at], value))
        return found


def number_of(item: tuple[int, Any]) -> int:
    """The number of an entry that an index has under a key."""
    return item[0]


def _by_base(entry: Entry) -> Iterator[tuple[str, Nothing]]:
    if entry.function is not None:
        yield entry.function.canonical.name.base, ()


def _by_schema(entry: Entry) -> Iterator[tuple[str, bool]]:
    if entry.function is not None:
        yield str(entry.function.schema), bool(entry.bodies)


def _by_signature(entry: Entry) -> Iterator[tuple[str, tuple[str, bool]]]:
    if entry.function is not None:
        schema = entry.function.schema
        key = signature_key(schema.kind is SchemaKind.functional, schema.signature_key_no_defaults)
        yield key, (str(schema), bool(entry.bodies))


def signature_key(is_functional: bool, signature: str) -> str:
    """What :data:`BY_SIGNATURE` has entries under.

    Args:
        is_functional: whether their functions modify nothing.
        signature: the signature of their functions, without defaults.
    """
    return f"{'functional' if is_functional else 'modifying'} {signature}"


def _by_operator(entry: Entry) -> Iterator[tuple[str, bool]]:
    yield entry.operator or "", entry.function is not None


def _unresolved(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.schema_problem is not None:
        yield "", entry.operator or ""


def _by_node(entry: Entry) -> Iterator[tuple[str, Nothing]]:
    for body in entry.bodies:
        if body.info is not None and body.info.prefix is not None:
            yield body.info.prefix, ()


def _foreach(entry: Entry) -> Iterator[tuple[str, Nothing]]:
    if entry.function is not None and entry.function.canonical.name.is_foreach:
        yield "", ()


#: What is asked of all entries is asked of so many groups of them, so that an edit concerns few.
GROUPS = tuple(str(number) for number in range(32))


def group_of(text: str) -> str:
    """The group of what has a text; equal ones are in one group."""
    return GROUPS[len(text) % len(GROUPS)]


def _formulas(entry: Entry) -> Iterator[tuple[str, int]]:
    yield group_of(entry.operator or ""), sum(len(body.formulas) for body in entry.bodies)


#: All entries, in groups, with the number of their formulas.
FORMULAS: EntryIndex[int] = EntryIndex(f"{__name__}:FORMULAS", _formulas)
#: The entries of all overloads of an operator, by its base name.
BY_BASE: EntryIndex[Nothing] = EntryIndex(f"{__name__}:BY_BASE", _by_base)
#: The entries by the schemas of the functions that they are for, with whether they have any formulas.
BY_SCHEMA: EntryIndex[bool] = EntryIndex(f"{__name__}:BY_SCHEMA", _by_schema)
#: The entries by the signatures of these functions, with their schemas and likewise.
BY_SIGNATURE: EntryIndex[tuple[str, bool]] = EntryIndex(f"{__name__}:BY_SIGNATURE", _by_signature)
#: By the operator as written, with whether it is known.
BY_OPERATOR: EntryIndex[bool] = EntryIndex(f"{__name__}:BY_OPERATOR", _by_operator)
#: The entries whose schemas belong to no function, with the operator as written, under one key.
UNRESOLVED: EntryIndex[str] = EntryIndex(f"{__name__}:UNRESOLVED", _unresolved)
#: By the names of generated nodes, without their numbers.
BY_NODE: EntryIndex[Nothing] = EntryIndex(f"{__name__}:BY_NODE", _by_node)
#: The entries of operators on lists that apply another one to each tensor, under one key.
FOREACH: EntryIndex[Nothing] = EntryIndex(f"{__name__}:FOREACH", _foreach)
