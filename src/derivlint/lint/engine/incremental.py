"""Checking a text with the memos of earlier ones; see :mod:`derivlint.lint.engine` for the terms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from msgspec import Struct

from derivlint.lint.engine.moving import Move, moved_claim, places_of_claim
from derivlint.lint.engine.precedence import Claim
from derivlint.lint.engine.result import Result
from derivlint.lint.engine.run import Checker, Raw
from derivlint.lint.rule import Rule
from derivlint.model import Entry, Model
from derivlint.model.memos import EntryKey, EntryMemos, Memo
from derivlint.source import Span
from derivlint.yaml_reader.split import SplitDocument

#: So many entries are checked rule by rule, see :meth:`Checker.entries`.
BATCH = 200


class Cancelled(BaseException):
    """A check whose result is not needed any more; a BaseException, so that no rule catches it."""


class EntryResult(Struct, frozen=True, gc=False):
    """What rules found in one entry, where no check crashed.

    Attributes:
        claims: the findings before precedence, at their places in the text that they were found in.
        start: where the entry began in that text.
        anchors: the other entries that places are in, each with where it was.
    """

    claims: tuple[Claim, ...]
    start: int = 0
    anchors: tuple[tuple[EntryKey, Span], ...] = ()


class CheckedText(Struct, frozen=True):
    """The result of a check of a text.

    Attributes:
        model: its model.
        result: the findings of all rules but those about suppressions.
        checked: how many entries were checked, the others being as they were.
    """

    model: Model
    result: Result
    checked: int


def check_text(model: Model, rules: Iterable[Rule], *, stop: Callable[[], bool] | None = None) -> CheckedText:
    """Check a text, with the memos that its model was built with.

    Args:
        model: a model of the text.
        rules: the rules, always the same ones with the same memos.
        stop: whether to cancel the check, asked before each entry; None where it is never cancelled.

    Raises:
        Cancelled: the check was cancelled; what was found until then is in the memos.
    """
    return _Check(model, Checker(model, rules), stop).run()


class _Check:
    """The check of one text."""

    def __init__(self, model: Model, checker: Checker, stop: Callable[[], bool] | None) -> None:
        self.model = model
        self.checker = checker
        self.stop = stop
        document = model.document
        self.spans: Sequence[Span] = document.spans if isinstance(document, SplitDocument) else ()
        memos = model.memos
        self.revision, self.uncertain = (memos.revision, memos.uncertain) if memos is not None else (0, None)
        self.positions = {record.key: position for position, record in enumerate(model.records)}

    def run(self) -> CheckedText:
        """Check the file, and the entries without a memo that holds."""
        entries = self.model.entries
        positions = range(len(entries))
        recalled = [self.recalled(position) if self.model.records else None for position in positions]
        to_check = [position for position, raw in enumerate(recalled) if raw is None]
        raws = [self.file()]
        # a check that may be cancelled goes entry by entry
        if self.stop is None and len(to_check) >= BATCH:
            checked = self.checker.entries([entries[position] for position in to_check])
        else:
            checked = map(self.checker.entry, (self.uncancelled(entries[position]) for position in to_check))
        for position, raw in zip(to_check, checked, strict=True):
            recalled[position] = raw
            if self.model.records and not raw.crashed:
                self.remember(position, raw)
        raws += filter(None, recalled)
        return CheckedText(self.model, self.checker.settled(raws), len(to_check))

    def uncancelled(self, entry: Entry) -> Entry:
        """An entry that is to be checked, unless the check is cancelled."""
        if self.stop is not None and self.stop():
            raise Cancelled
        return entry

    def file(self) -> Raw:
        """What rules for the file as a whole find; places in the text move, so only a result without any is kept."""
        memos = self.model.memos
        has_problems = bool(self.model.document.problems)
        memo = memos.file if memos is not None and not has_problems else None
        if memo is not None and self.model.holds(memo):
            return Raw(memo.value)
        raw = self.checker.file()
        if memos is not None and not has_problems and not raw.crashed:
            is_elsewhere = all(claim.diagnostic.elsewhere for claim in raw.claims)
            memos.file = self.model.memo(raw.claims, raw.dependencies) if is_elsewhere else None
        return raw

    def recalled(self, position: int) -> Raw | None:
        """What was found in an entry with the same text and the same answers; None where it has to be checked."""
        record = self.model.records[position]
        for memo in record.results:
            if not self.holds(record, memo):
                continue
            if memo is not record.results[0]:
                record.add(memo)
            record.verified_at = self.revision
            result: EntryResult = memo.value
            if not result.claims:
                return _NOTHING
            if result.start == self.spans[position].start and not result.anchors:
                return Raw(result.claims)
            move = self.move(result, position)
            there = [moved_claim(claim, move) for claim in result.claims]
            claims = tuple([claim for claim in there if claim is not None])
            return Raw(claims) if len(claims) == len(there) else None
        return None

    def holds(self, record: EntryMemos, memo: Memo[EntryResult]) -> bool:
        """Whether a result holds; one that held in the text before may not if something that it read is uncertain."""
        is_newest = memo is record.results[0] and record.verified_at == self.revision - 1
        if is_newest and self.uncertain is not None and self.uncertain.isdisjoint(memo.reads):
            return True
        return self.model.holds(memo)

    def remember(self, position: int, raw: Raw) -> None:
        """Keep what was found in an entry, with all that was read for it, unless it has places that cannot move."""
        own = self.spans[position]
        anchors: dict[EntryKey, Span] = {}
        for place in chain.from_iterable(map(places_of_claim, raw.claims)):
            if own.contains(place) and place.start < own.end:
                continue
            other = bisect_right(self.spans, place.start, key=_start) - 1
            if other < 0 or not self.spans[other].contains(place):
                return
            anchors[self.model.records[other].key] = self.spans[other]
        result = EntryResult(raw.claims, own.start, tuple(anchors.items()))
        record = self.model.records[position]
        record.add(self.model.memo(result, raw.dependencies))
        record.verified_at = self.revision

    def move(self, result: EntryResult, position: int) -> Move:
        """Where places of a result are in this text; None for those in an entry that is gone."""
        text, _ = self.model.records[position].key
        offset = self.spans[position].start - result.start
        own = Span(result.start, result.start + len(text))

        def move(span: Span) -> Span | None:
            if own.contains(span) and span.start < own.end:
                return span.shift(offset) if offset else span
            for key, place in result.anchors:
                if place.contains(span):
                    there = self.positions.get(key)
                    return span.shift(self.spans[there].start - place.start) if there is not None else None
            return None

        return move


_NOTHING = Raw()


def _start(span: Span) -> int:
    return span.start
