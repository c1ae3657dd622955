"""The model of a few entries of a file, which knows of the others what they were before an edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from derivlint.meaning.arguments import ArgumentUses, argument_uses
from derivlint.model import Entry, Matcher, Model
from derivlint.model.info import build_info
from derivlint.model.match import InfoByKey, view_copy_infos
from derivlint.model.read import read_entry
from derivlint.model.resolve import resolve_entry
from derivlint.model.typing import TypeChecker
from derivlint.schema import FunctionSchema, NativeFunction
from derivlint.yaml_reader import Document, Node

_BySignature = dict[str, tuple[FunctionSchema, InfoByKey]]
_ByBase = dict[str, list[tuple[FunctionSchema, InfoByKey]]]


class _PartialMatcher(Matcher):
    """A matcher with other infos for a few functions; to make one of all infos takes longer than to check an entry."""

    def __init__(
        self, base: Matcher, infos: Mapping[str, InfoByKey], gone: Iterable[InfoByKey], own: Mapping[str, InfoByKey]
    ) -> None:
        new = Matcher(own)
        old = Matcher({str(index): by_key for index, by_key in enumerate(gone)})
        self._infos = infos
        self._functional = _changed(base._functional, old._functional, new._functional)
        self._other = _changed(base._other, old._other, new._other)
        names = old._functional_by_base.keys() | new._functional_by_base.keys()
        self._functional_by_base = _by_base_changed(base._functional_by_base, self._functional, names)
        names = old._other_by_base.keys() | new._other_by_base.keys()
        self._other_by_base = _by_base_changed(base._other_by_base, self._other, names)
        self.foreach = {}


def _changed(base: _BySignature, old: _BySignature, new: _BySignature) -> _BySignature:
    found = {key: item for key, item in base.items() if key not in old or item[1] is not old[key][1]}
    found.update(new)
    return found


def _by_base_changed(base: _ByBase, now: _BySignature, names: Collection[str]) -> _ByBase:
    found = dict(base)
    for name in names:
        found.pop(name, None)
    for item in now.values():
        if item[0].name.base in names:
            found.setdefault(item[0].name.base, []).append(item)
    return found


def _uses_in(base: Model, replaced: frozenset[int], entries: tuple[Entry, ...]) -> ArgumentUses:
    """What the entries of the whole file do with arguments."""
    known = argument_uses(base)
    gone = _uses_of(tuple(base.entries[index] for index in sorted(replaced)))
    new = _uses_of(entries)
    return ArgumentUses(known.given - gone.given + new.given, known.lacking - gone.lacking + new.lacking)


def _uses_of(entries: tuple[Entry, ...]) -> ArgumentUses:
    few = Model.__new__(Model)
    few.entries = entries
    few._derived = {}
    return argument_uses(few)


class PartialModel(Model):
    """Some entries of a file, read anew, among the others as a model of an earlier text has them.

    Only ``entries`` is the part; what is asked by name or by function is answered for the whole file. Places in other
    entries are those of the earlier text.
    """

    def __init__(self, document: Document, base: Model, nodes: Mapping[int, Node], replaced: frozenset[int]) -> None:
        """Read some entries.

        Args:
            document: the text, with the nodes of those entries.
            base: the model of the earlier text.
            nodes: the nodes to read, by the positions of their entries in the file.
            replaced: the positions of the entries of the earlier text that do not count any more.
        """
        self.document = document
        self.natives = base.natives
        self.layout = base.layout
        self.versions = None
        self.version = None
        self._base = base
        self._replaced = replaced
        self.all_entries = self.entries = tuple(read_entry(index, node, self.layout) for index, node in nodes.items())
        self.schema_problems = {}
        self._derived = {}
        self._matches = {}
        self._uses = {}
        self._type_problems = {}
        self._differentiabilities = {}
        own: dict[str, InfoByKey] = {}
        counter: Counter[str] = Counter()
        for entry in self.entries:
            problem = resolve_entry(entry, self.natives)
            if problem is not None:
                self.schema_problems[entry.index] = problem
            if entry.function is None:
                continue
            by_key: InfoByKey = {}
            for body in entry.bodies:
                body.info = build_info(body, entry.function, counter)
                by_key[body.key] = body.info
            own[str(entry.function.schema)] = by_key
        own.update(view_copy_infos(own, self.natives))
        gone = [
            schema
            for schema, infos in base._infos.items()
            if schema in own or any(info.source.index in replaced for info in infos.values())
        ]
        self._infos = dict(base._infos)
        for schema in gone:
            del self._infos[schema]
        self._infos.update(own)
        self._derived[ArgumentUses] = _uses_in(base, replaced, self.entries)
        self.matcher = _PartialMatcher(base.matcher, self._infos, [base._infos[schema] for schema in gone], own)

    @property
    def is_of_another_release(self) -> bool:
        """As it was before the edit."""
        return self._base.is_of_another_release

    @property
    def is_pytorchs_own(self) -> bool:
        """As it was before the edit."""
        return self._base.is_pytorchs_own

    @property
    def typing(self) -> TypeChecker:
        """That of the whole file, which depends on no entry."""
        return self._base.typing

    def foreach_without_reference(self) -> list[NativeFunction]:
        """As it was before the edit."""
        return self._base.foreach_without_reference()

    @cached_property
    def entries_by_function(self) -> dict[str, tuple[Entry, ...]]:
        """The entries that speak of a function, by its schema, in file order, of the whole file."""
        own: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.function is not None:
                own.setdefault(str(entry.function.schema), []).append(entry)
        return self._among_others(self._base.entries_by_function, own)

    @cached_property
    def entries_by_base(self) -> dict[str, tuple[Entry, ...]]:
        """The entries of all overloads of an operator, by its base name, in file order, of the whole file."""
        own: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.function is not None:
                own.setdefault(entry.function.canonical.name.base, []).append(entry)
        return self._among_others(self._base.entries_by_base, own)

    def _among_others(
        self, known: Mapping[str, tuple[Entry, ...]], own: Mapping[str, list[Entry]]
    ) -> dict[str, tuple[Entry, ...]]:
        found = dict(known)
        touched = {key for key, entries in known.items() if any(entry.index in self._replaced for entry in entries)}
        for key in touched | own.keys():
            left = [entry for entry in known.get(key, ()) if entry.index not in self._replaced]
            together = sorted([*left, *own.get(key, ())], key=lambda entry: entry.index)
            if together:
                found[key] = tuple(together)
            else:
                found.pop(key, None)
        return found
