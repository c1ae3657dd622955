"""Entries by what others look them up by: the one way from one entry of a file to another.

An index says of each entry under which keys it is found, and a value of plain data under each. Who needs no more than
the values is not concerned by other changes of those entries.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, TypeVar

from msgspec import Struct

from derivlint.model.entry import Entry
from derivlint.schema import SchemaKind

T = TypeVar("T")
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


#: The number of an entry with what an index has of it under a key.
Item = tuple[int, Any]
#: Of later texts what is under so many keys is held apart.
APART = 64


class ByKey:
    """What an index has under each key, in file order; texts that follow each other share most of it."""

    def __init__(self, known: dict[str, list[Item]], changed: dict[str, list[Item]]) -> None:
        """Take what there is.

        Args:
            known: what was there in an earlier text; no one changes it.
            changed: what is there instead under some keys.
        """
        self._known = known
        self._changed = changed

    def under(self, key: str) -> list[Item]:
        """What is under a key."""
        found = self._changed.get(key)
        return found if found is not None else self._known.get(key, [])

    def replaced(self, gone: Iterable[tuple[int, Row]], new: Iterable[tuple[int, Row]]) -> ByKey:
        """What is there in a later text.

        Args:
            gone: the numbers of entries that the later text does not have, with their rows.
            new: likewise of those that this text does not have.
        """
        changed: dict[str, list[Item]] = {}
        for number, row in gone:
            for key, _ in row:
                items = changed.setdefault(key, self.under(key).copy())
                start = bisect_left(items, number, key=number_of)
                del items[start : bisect_right(items, number, start, key=number_of)]
        for number, row in new:
            for key, value in row:
                items = changed.setdefault(key, self.under(key).copy())
                items.insert(bisect_right(items, number, key=number_of), (number, value))
        changed = {**self._changed, **changed}
        return ByKey(self._known, changed) if len(changed) <= APART else ByKey({**self._known, **changed}, {})


class Rows(list[Row]):
    """What an index has of each entry, in file order; it does not change.

    Attributes:
        numbers: those of the entries, see ``Model.numbers``.
    """

    def __init__(self, rows: Iterable[Row], numbers: Sequence[int]) -> None:
        super().__init__(rows)
        self.numbers = numbers

    @cached_property
    def by_key(self) -> ByKey:
        """What is under each key."""
        found: dict[str, list[Item]] = {}
        for number, row in zip(self.numbers, self, strict=True):
            for key, value in row:
                found.setdefault(key, []).append((number, value))
        return ByKey(found, {})

    def replaced(self, gaps: Iterable[Gap], own: Mapping[int, Row], numbers: Sequence[int]) -> Rows:
        """The rows of a later text; what is known under keys stays known.

        Args:
            gaps: where the entries of the texts are not the same.
            own: the rows of those of the later text, by position.
            numbers: those of the entries of the later text.
        """
        found = Rows(self, numbers)
        fill_gaps(found, gaps, own)
        if "by_key" in self.__dict__:
            gone = ((self.numbers[at], self[at]) for old, _ in gaps for at in old)
            new = ((numbers[at], row) for at, row in own.items())
            found.__dict__["by_key"] = self.by_key.replaced(gone, new)
        return found


#: The positions of neighbouring entries of an earlier text, and of those that are there in a later one.
Gap = tuple[range, range]


def fill_gaps(items: list[T], gaps: Iterable[Gap], own: Mapping[int, T]) -> None:
    """Make what is known of each entry of an earlier text that of a later one.

    Args:
        items: what is known of each entry.
        gaps: where the entries of the texts are not the same, in order.
        own: what is known of those of the later text, by position.
    """
    for old, new in reversed([*gaps]):
        items[old.start : old.stop] = [own[at] for at in new]


def number_of(item: Item) -> int:
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
