"""Which entry a diagnostic belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from derivlint.lint.diagnostic import Diagnostic
from derivlint.model import DerivativeFormula, DispatchBody, Entry


def names_of(found: object) -> tuple[str | None, str | None, str | None]:
    """The entry, dispatch key and key that an object of the model belongs to; None for what it has none of."""
    if isinstance(found, DerivativeFormula):
        return found.entry.operator, found.body.key, found.key_text
    if isinstance(found, DispatchBody):
        return found.entry.operator, found.key, None
    if isinstance(found, Entry):
        return found.operator, None, None
    return None, None, None


class EntryFinder:
    """Finds entries of a file by place and by name."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        # an aliased entry has the place of its anchor, so places may repeat and be out of order
        self._entries = sorted(entries, key=lambda entry: entry.span.start)
        self._starts = [entry.span.start for entry in self._entries]
        self._by_name: dict[str, Entry] = {}
        for entry in entries:
            if entry.operator is not None:
                self._by_name.setdefault(entry.operator, entry)

    def at(self, offset: int) -> Entry | None:
        """The entry that holds a character."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return None
        entry = self._entries[index]
        return entry if offset < max(entry.span.end, entry.span.start + 1) else None

    def behind(self, offset: int) -> Entry | None:
        """The first entry that begins after a character."""
        index = bisect_right(self._starts, offset)
        return self._entries[index] if index < len(self._entries) else None

    def owner(self, diagnostic: Diagnostic) -> Entry | None:
        """The entry that a diagnostic is about; several may have its name, then its place decides."""
        if diagnostic.elsewhere:
            return None
        here = self.at(diagnostic.span.start)
        if diagnostic.entry is None or (here is not None and here.operator == diagnostic.entry):
            return here
        return self._by_name.get(diagnostic.entry, here)
