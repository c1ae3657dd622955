"""Entries by offset and name, and the entry of a diagnostic."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from derivlint.lint.diagnostic import Diagnostic
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model
from derivlint.model.index import BY_OPERATOR
from derivlint.yaml_reader.split import SplitDocument


def names_of(item: object) -> tuple[str | None, str | None, str | None]:
    """The operator, dispatch key and key of a model object; None for those it lacks."""
    if isinstance(item, DerivativeFormula):
        return item.entry.operator, item.body.key, item.key_text
    if isinstance(item, DispatchBody):
        return item.entry.operator, item.key, None
    return (item.operator if isinstance(item, Entry) else None), None, None


class EntryFinder:
    """Finds entries by offset and by name."""

    def __init__(self, model: Model) -> None:
        document = model.document
        # entries of a plain list are read on demand
        #: the offsets of the entries, or of the texts of their items
        self._starts: Sequence[int]
        self._entries: Sequence[Entry]
        self._named: Callable[[str], Entry | None]
        if isinstance(document, SplitDocument):
            self._entries, self._starts = model.all_entries, document.starts
            self._named = lambda name: next(iter(model.entries_in(BY_OPERATOR, name)), None)
        else:
            # an aliased entry has its anchor's span, so spans may repeat and be unordered
            self._entries = sorted(model.all_entries, key=_start)
            self._starts = [*map(_start, self._entries)]
            by_name: dict[str, Entry] = {}
            for entry in model.all_entries:
                if entry.operator is not None:
                    by_name.setdefault(entry.operator, entry)
            self._named = by_name.get

    def at(self, offset: int) -> Entry | None:
        """The entry that contains a character."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return None
        entry = self._entries[index]
        return entry if _start(entry) <= offset < max(entry.span.end, _start(entry) + 1) else None

    def behind(self, offset: int) -> Entry | None:
        """The first entry that starts after a character."""
        index = bisect_right(self._starts, offset)
        near = self._entries[max(index - 1, 0) : index + 1]
        return next((entry for entry in near if _start(entry) > offset), None)

    def owner(self, diagnostic: Diagnostic) -> Entry | None:
        """The entry of a diagnostic; of several with its name, the one at its span."""
        if diagnostic.elsewhere:
            return None
        around = self.at(diagnostic.span.start)
        if diagnostic.entry is None or (around is not None and around.operator == diagnostic.entry):
            return around
        return self._named(diagnostic.entry) or around


def _start(entry: Entry) -> int:
    return entry.span.start
