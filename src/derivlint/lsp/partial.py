"""The model of a few entries of a file, which knows of the others what they were before an edit."""

from __future__ import annotations

from collections.abc import Mapping

from derivlint.meaning.arguments import ArgumentUses, argument_uses, count_uses
from derivlint.model import Entry, Model
from derivlint.model.model import by_base, by_function
from derivlint.model.read import read_entry
from derivlint.model.typing import TypeChecker
from derivlint.schema import NativeFunction
from derivlint.source.lazy import cached_property
from derivlint.yaml_reader import Document, Node


def _uses_in(base: Model, replaced: frozenset[int], entries: tuple[Entry, ...]) -> ArgumentUses:
    """What the entries of the whole file do with arguments."""
    known = argument_uses(base)
    gone = count_uses(base.entries[index] for index in replaced)
    new = count_uses(entries)
    return ArgumentUses(known.given - gone.given + new.given, known.lacking - gone.lacking + new.lacking)


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
        self._begin()
        own = self._resolved_infos()
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
        self.matcher = base.matcher.replaced(self._infos, [base._infos[schema] for schema in gone], own)

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
        return self._among_others(self._base.entries_by_function, by_function(self.entries))

    @cached_property
    def entries_by_base(self) -> dict[str, tuple[Entry, ...]]:
        """The entries of all overloads of an operator, by its base name, in file order, of the whole file."""
        return self._among_others(self._base.entries_by_base, by_base(self.entries))

    def _among_others(
        self, known: Mapping[str, tuple[Entry, ...]], own: Mapping[str, tuple[Entry, ...]]
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
