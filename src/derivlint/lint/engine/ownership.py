"""Which entry a diagnostic belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from derivlint.lint.diagnostic import Diagnostic
from derivlint.model import DerivativeFormula, DispatchBody, Entry, Model
from derivlint.model.index import BY_OPERATOR
from derivlint.yaml_reader.split import SplitDocument


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

    def __init__(self, model: Model) -> None:
        """Take the file; entries of a plain list that are not looked at are not read."""
        document = model.document
        #: where each begins, or the text of its item
        self._starts: Sequence[int]
        self._entries: Sequence[Entry]
        self._named: Callable[[str], Entry | None]
        if isinstance(document, SplitDocument):
            self._entries, self._starts = model.all_entries, document.starts
            self._named = lambda name: next(iter(model.entries_in(BY_OPERATOR, name)), None)
        else:
            # an aliased entry has the place of its anchor, so places may repeat and be out of order
            self._entries = sorted(model.all_entries, key=_start)
            self._starts = [*map(_start, self._entries)]
            self._named = _by_name(model.all_entries).get

    def at(self, offset: int) -> Entry | None:
        """The entry that holds a character."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return None
        entry = self._entries[index]
        return entry if _start(entry) <= offset < max(entry.span.end, _start(entry) + 1) else None

    def behind(self, offset: int) -> Entry | None:
        """The first entry that begins after a character."""
        index = bisect_right(self._starts, offset)
        near = self._entries[max(index - 1, 0) : index + 1]
        return next((entry for entry in near if _start(entry) > offset), None)

    def owner(self, diagnostic: Diagnostic) -> Entry | None:
        """The entry that a diagnostic is about; several may have its name, then its place decides."""
        if diagnostic.elsewhere:
            return None
        here = self.at(diagnostic.span.start)
        if diagnostic.entry is None or (here is not None and here.operator == diagnostic.entry):
            return here
        return self._named(diagnostic.entry) or here


def _start(entry: Entry) -> int:
    return entry.span.start


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.operator is not None:
            found.setdefault(entry.operator, entry)
    return found
