"""Trials of fixes before they are offered.

A fix is sound if it introduces no syntax or type error and leaves no formula with refuted values; only a safe fix may
make a formula compile whose values are then refuted. Of alternatives, the only sound one is offered. All fixes of an
entry are tried together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from derivlint.analysis.soundness import Unsound, unsound
from derivlint.lint.diagnostic import Fix
from derivlint.model import Entry, Model
from derivlint.model.model import probe_model
from derivlint.schema import NativeFunctions
from derivlint.source import Span

#: The maximum number of trials for an entry; further fixes are offered once the first ones are applied.
MAX_TRIALS = 8
#: The maximum length of an entry whose fixes are tried.
MAX_LENGTH = 20_000
#: The number of cached trials: during fixing and editing, the same entries are tried repeatedly.
MAX_RESULTS = 512
_RESULTS: WeakKeyDictionary[NativeFunctions, dict[str, Counter[Unsound] | None]] = WeakKeyDictionary()

#: A formula by dispatch key and key.
_Place = tuple[str, str]


#: The kind of a fix, by what it changes: the formula, or names in its key; "none" for another formula.
_FixKind = Literal["none", "safe", "guess", "safe names", "names"]


class _Remaining(NamedTuple):
    """A mistake that remains after a fix.

    Attributes:
        is_new: whether it was absent before.
        compiled: whether the formula compiled before.
        compiles: whether it compiles now.
    """

    is_new: bool
    compiled: bool
    compiles: bool


def _is_old(mistake: _Remaining) -> bool:
    return not mistake.is_new


#: Whether a mistake may remain after a fix, by kind of fix and whether the mistake is a wrong value.
_MAY_REMAIN: Mapping[tuple[_FixKind, bool], Callable[[_Remaining], bool]] = {
    ("none", False): _is_old,
    ("none", True): _is_old,
    ("safe", False): _is_old,
    # a safe fix may reveal that the formula is wrong
    ("safe", True): lambda mistake: not mistake.is_new or not mistake.compiled,
    ("guess", False): _is_old,
    # "self**2 + other**2": after one of two fixes the formula does not compile yet, so its value proves nothing
    ("guess", True): lambda mistake: not mistake.is_new and not mistake.compiles,
    # with another key, the formula has to compile
    ("safe names", False): lambda _: False,
    ("safe names", True): lambda mistake: not mistake.compiled,
    ("names", False): lambda _: False,
    ("names", True): lambda _: False,
}


def _unfinished(problems: Iterable[Unsound]) -> set[_Place]:
    """The formulas that do not compile."""
    return {(item.dispatch, item.key) for item in problems if item.kind != "value"}


class FixCheck:
    """Tries the fixes of an entry, one fix per formula at a time."""

    def __init__(self, model: Model, entry: Entry) -> None:
        self._model = model
        source = model.source.text
        start = source.rfind("\n", 0, entry.span.start) + 1
        self._range = Span(start, entry.span.end)
        self._text = source[start : entry.span.end]
        formulas = sorted((formula.value_span, (formula.body.key, formula.key_text)) for formula in entry.formulas)
        self._formulas = formulas
        self._starts = [span.start for span, _ in formulas]
        # names in a key may be a guess, but schemas are as PyTorch declares them
        names = [formula.key_span for formula in entry.formulas]
        if entry.name is not None:
            names.append(entry.place_in(entry.name, 0, max(entry.name.value.find("("), 0)))
        self._names = sorted(names)

    def chosen(self, alternatives: Sequence[Sequence[Fix]]) -> list[Fix | None]:
        """Return the only sound fix of each group of alternatives, or None."""
        unsound = self._unsound([fix for fixes in alternatives for fix in fixes])
        sound = [[fix for fix in fixes if fix not in unsound] for fixes in alternatives]
        return [fixes[0] if len(fixes) == 1 else None for fixes in sound]

    def _unsound(self, fixes: Iterable[Fix]) -> set[Fix]:
        """Return the fixes that introduce or leave a mistake, or could not be tried."""
        batches: list[dict[_Place, Fix]] = []
        unsound: set[Fix] = set()
        for fix in dict.fromkeys(fixes):
            places = self._places(fix)
            own = self._range
            if not places or not all(own.start <= edit.span.start <= edit.span.end <= own.end for edit in fix.edits):
                continue
            batch = next((batch for batch in batches if batch.keys().isdisjoint(places)), None)
            if batch is not None:
                batch.update(dict.fromkeys(places, fix))
            elif len(batches) < MAX_TRIALS and len(self._text) <= MAX_LENGTH:
                batches.append(dict.fromkeys(places, fix))
            else:
                unsound.add(fix)
        return unsound.union(*map(self._unsound_together, batches))

    def _unsound_together(self, batch: Mapping[_Place, Fix]) -> set[Fix]:
        """Return the unsound fixes among fixes of different formulas."""
        before = self._problems(self._text)
        edits = [edit for fix in set(batch.values()) for edit in fix.edits]
        parts: list[str] = []
        end = len(self._text)
        for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
            parts += (self._text[edit.span.end - self._range.start : end], edit.text)
            end = edit.span.start - self._range.start
        after = self._problems(self._text[:end] + "".join(reversed(parts)))
        if before is None or after is None:
            # the entry cannot be isolated; a fix that breaks the YAML is never written anyway
            return set()
        unsound: set[Fix] = set()
        uncompiled, unfinished = _unfinished(before), _unfinished(after)
        for item in after:
            place = (item.dispatch, item.key)
            fix = batch.get(place)
            remaining = _Remaining(after[item] > before[item], place not in uncompiled, place not in unfinished)
            if item.kind != "name" and not _MAY_REMAIN[self._kind(fix), item.kind == "value"](remaining):
                # attribute a formula under a new key to the fixes of keys
                unsound |= {fix} if fix is not None else set(batch.values())
        return unsound

    def _kind(self, fix: Fix | None) -> _FixKind:
        if fix is None:
            return "none"
        if self._touches_names(fix):
            return "safe names" if fix.safe else "names"
        return "safe" if fix.safe else "guess"

    def _places(self, fix: Fix) -> dict[_Place, None]:
        """Return the formulas that a fix edits; all if it edits their keys or the operator.

        Formulas do not overlap, but aliases have the span of their anchor.
        """
        if self._touches_names(fix):
            return dict.fromkeys(place for _, place in self._formulas)
        places: dict[_Place, None] = {}
        for edit in fix.edits:
            at = bisect_right(self._starts, edit.span.end)
            while at and self._formulas[at - 1][0].end >= edit.span.start:
                at -= 1
                places[self._formulas[at][1]] = None
        return places

    def _touches_names(self, fix: Fix) -> bool:
        # names do not overlap: only the last one before the end of an edit can reach into it
        before = ((edit, bisect_right(self._names, edit.span.end, key=attrgetter("start"))) for edit in fix.edits)
        return any(at and edit.span.start < self._names[at - 1].end for edit, at in before)

    def _problems(self, text: str) -> Counter[Unsound] | None:
        """Return the problems of the formulas of an entry, or None if the text is not one entry."""
        results = _RESULTS.setdefault(self._model.natives, {})
        if text not in results:
            if len(results) >= MAX_RESULTS:
                results.clear()
            probe = probe_model(text, self._model)
            is_entry = probe.n_entries == 1 and not probe.document.problems
            results[text] = unsound(probe, probe.entries[0]) if is_entry else None
        return results[text]
