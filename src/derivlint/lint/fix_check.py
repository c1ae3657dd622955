"""Whether fixes do what they promise: each is tried before it is offered.

A fix that leaves a formula which does not parse, has wrong types or is refuted by numbers, which was not so before, is
not offered. Only entries with fixes pay for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from derivlint.analysis.soundness import Unsound, unsound
from derivlint.lint.diagnostic import Fix, TextEdit
from derivlint.model import Entry, Model
from derivlint.model.model import probe_model
from derivlint.schema import NativeFunctions
from derivlint.source import Span

#: So many fixes of an entry are tried; further ones wait until those are made.
MAX_TRIALS = 6
#: Fixes in longer entries are not offered.
MAX_LENGTH = 20_000
#: How many results are kept: while a file is fixed, or edited, the same entries are tried again and again.
MAX_RESULTS = 512
_RESULTS: WeakKeyDictionary[NativeFunctions, dict[str, Counter[Unsound] | None]] = WeakKeyDictionary()


class FixCheck:
    """Tries the fixes of one entry."""

    def __init__(self, model: Model, entry: Entry) -> None:
        self._model = model
        source = model.source.text
        start = source.rfind("\n", 0, entry.span.start) + 1
        self._range = Span(start, entry.span.end)
        self._text = source[start : entry.span.end]
        self._formulas = [formula.value_span for formula in entry.formulas]
        self._trials = 0

    def is_sound(self, fix: Fix) -> bool:
        """Whether a fix makes no formula of the entry wrong; true of a fix of anything else."""
        if not any(_overlap(edit.span, formula) for edit in fix.edits for formula in self._formulas):
            return True
        if any(not self._range.start <= edit.span.start <= edit.span.end <= self._range.end for edit in fix.edits):
            return True
        self._trials += 1
        if len(self._text) > MAX_LENGTH or self._trials > MAX_TRIALS:
            return False
        before, after = self._problems(self._text), self._problems(self._edited(fix.edits))
        if before is None or after is None:
            # the entry cannot be taken out of its file; where a fix breaks the YAML, nothing is written
            return True
        uncompiled = {item.key for item in before if item.what != "value"} if fix.safe else set()
        # a formula that did not compile may have been wrong, and a fix that keeps what was meant may leave it so
        new = (item for item in after - before if item.what != "name")
        return all(item.what == "value" and item.key in uncompiled for item in new)

    def _edited(self, edits: Sequence[TextEdit]) -> str:
        text = self._text
        for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
            start, end = edit.span.start - self._range.start, edit.span.end - self._range.start
            text = text[:start] + edit.text + text[end:]
        return text

    def _problems(self, text: str) -> Counter[Unsound] | None:
        """What is wrong with the formulas of an entry, None where the text is not one entry."""
        results = _RESULTS.setdefault(self._model.natives, {})
        if text not in results:
            if len(results) >= MAX_RESULTS:
                results.clear()
            probe = probe_model(text, self._model)
            is_entry = probe.n_entries == 1 and not probe.document.problems
            results[text] = unsound(probe, probe.entries[0]) if is_entry else None
        return results[text]


def _overlap(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end
