"""Incremental checks with the memos of earlier texts; see :mod:`derivlint.lint.engine` for the terms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from derivlint.lint.diagnostic import Diagnostic, Result
from derivlint.lint.engine.precedence import RawFinding
from derivlint.lint.engine.run import Checker, EntryFindings
from derivlint.lint.rule import Rule
from derivlint.model import Entry, Model
from derivlint.model.memos import EntryKey, EntryMemos, Memo
from derivlint.source import Span
from derivlint.yaml_reader.split import SplitDocument

#: The minimum number of entries that are checked rule by rule, see :meth:`Checker.entries`.
BATCH = 200


#: A map of spans to another text; None for a removed span.
Move = Callable[[Span], Span | None]


class Cancelled(BaseException):
    """The check was cancelled; a BaseException, so that rules do not catch it."""


class EntryResult(Struct, frozen=True, gc=False):
    """The findings in an entry, if no check crashed.

    Attributes:
        findings: the findings before precedence, with spans in the checked text.
        start: the offset of the entry in that text.
        anchors: the other entries that contain spans, with their spans in that text.
    """

    findings: tuple[RawFinding, ...]
    start: int = 0
    anchors: tuple[tuple[EntryKey, Span], ...] = ()


class CheckedText(Struct, frozen=True):
    """The result of a check of a text.

    Attributes:
        model: its model.
        result: the findings of all rules except those about suppressions.
        checked: the number of entries that were checked; the others have memoized results.
    """

    model: Model
    result: Result
    checked: int


def check_text(model: Model, rules: Iterable[Rule], *, stop: Callable[[], bool] | None = None) -> CheckedText:
    """Check a text with the memos that its model was built with.

    Args:
        model: a model of the text.
        rules: the rules, which must be the same for the same memos.
        stop: returns whether the check is cancelled; called before each entry.

    Raises:
        Cancelled: the check was cancelled; results so far are in the memos.
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
        """Check the file, and all entries without a valid memo."""
        entries = self.checker.judged_entries
        positions = range(len(entries))
        recalled = [self.recalled(position) if self.model.records else None for position in positions]
        to_check = [position for position, findings in enumerate(recalled) if findings is None]
        parts = [self.file()]
        # a cancellable check proceeds entry by entry
        if self.stop is None and len(to_check) >= BATCH:
            checked = self.checker.entries([entries[position] for position in to_check])
        else:
            checked = map(self.checker.entry, (self.uncancelled(entries[position]) for position in to_check))
        for position, findings in zip(to_check, checked, strict=True):
            recalled[position] = findings
            if self.model.records and not findings.crashed:
                self.remember(position, findings)
        parts += filter(None, recalled)
        return CheckedText(self.model, self.checker.result(parts), len(to_check))

    def uncancelled(self, entry: Entry) -> Entry:
        if self.stop is not None and self.stop():
            raise Cancelled
        return entry

    def file(self) -> EntryFindings:
        """The findings of file-wide rules; memoized only if there are none, since spans move."""
        memos = self.model.memos
        has_problems = bool(self.model.document.problems)
        memo = memos.file if memos is not None and not has_problems else None
        if memo is not None and self.model.holds(memo):
            return EntryFindings(memo.value)
        findings = self.checker.file()
        if memos is not None and not has_problems and not findings.crashed:
            is_elsewhere = all(finding.diagnostic.elsewhere for finding in findings.findings)
            memos.file = self.model.memo(findings.findings, findings.dependencies) if is_elsewhere else None
        return findings

    def recalled(self, position: int) -> EntryFindings | None:
        """The findings in a valid memo of the entry at a position; None if it has to be checked."""
        record = self.model.records[position]
        for memo in record.results:
            if not self.holds(record, memo):
                continue
            if memo is not record.results[0]:
                record.add(memo)
            record.verified_at = self.revision
            result: EntryResult = memo.value
            if not result.findings:
                return _NO_FINDINGS
            if result.start == self.spans[position].start and not result.anchors:
                return EntryFindings(result.findings)
            move = self.move(result, position)
            moved = [moved_finding(finding, move) for finding in result.findings]
            findings = tuple([finding for finding in moved if finding is not None])
            return EntryFindings(findings) if len(findings) == len(moved) else None
        return None

    def holds(self, record: EntryMemos, memo: Memo[EntryResult]) -> bool:
        """Whether a memo is valid; answers that cannot have changed are not compared."""
        is_newest = memo is record.results[0] and record.verified_at == self.revision - 1
        if is_newest and self.uncertain is not None and self.uncertain.isdisjoint(memo.reads):
            return True
        return self.model.holds(memo)

    def remember(self, position: int, findings: EntryFindings) -> None:
        """Add a memo of the findings in an entry unless a span cannot be mapped."""
        own = self.spans[position]
        anchors: dict[EntryKey, Span] = {}
        for place in chain.from_iterable(map(places_of_finding, findings.findings)):
            if own.contains(place) and place.start < own.end:
                continue
            anchor = bisect_right(self.spans, place.start, key=_start) - 1
            if anchor < 0 or not self.spans[anchor].contains(place):
                return
            anchors[self.model.records[anchor].key] = self.spans[anchor]
        result = EntryResult(findings.findings, own.start, tuple(anchors.items()))
        record = self.model.records[position]
        record.add(self.model.memo(result, findings.dependencies))
        record.verified_at = self.revision

    def move(self, result: EntryResult, position: int) -> Move:
        """Return the map from spans of a result to this text; it returns None for spans in a removed entry."""
        text, _ = self.model.records[position].key
        offset = self.spans[position].start - result.start
        own = Span(result.start, result.start + len(text))

        def move(span: Span) -> Span | None:
            if own.contains(span) and span.start < own.end:
                return span.shift(offset) if offset else span
            for key, place in result.anchors:
                if place.contains(span):
                    anchor = self.positions.get(key)
                    return span.shift(self.spans[anchor].start - place.start) if anchor is not None else None
            return None

        return move


_NO_FINDINGS = EntryFindings()


def _start(span: Span) -> int:
    return span.start


def moved_finding(finding: RawFinding, move: Move) -> RawFinding | None:
    """Map the spans of a finding to another text; None if one of them was removed."""
    moved = _moved_diagnostic(finding.diagnostic, move)
    about = move(finding.about) if finding.about is not None else None
    if moved is None or (about is None and finding.about is not None):
        return None
    is_same = moved is finding.diagnostic and about == finding.about
    return finding if is_same else replace(finding, diagnostic=moved, about=about)


def _moved_diagnostic(item: Diagnostic, move: Move) -> Diagnostic | None:
    span = move(item.span)
    if span is None:
        return None
    fix = item.fix
    if not item.related and fix is None:
        return item if span == item.span else replace(item, span=span)
    related = []
    for part in item.related:
        place = part.span if part.path not in (None, item.path) else move(part.span)
        if place is None:
            return None
        related.append(replace(part, span=place))
    if fix is not None:
        edits = []
        for edit in fix.edits:
            place = move(edit.span)
            if place is None:
                return None
            edits.append(replace(edit, span=place))
        fix = replace(fix, edits=tuple(edits))
    return replace(item, span=span, related=tuple(related), fix=fix)


def places_of_finding(finding: RawFinding) -> Iterator[Span]:
    """The spans of a finding in the file."""
    item = finding.diagnostic
    yield item.span
    yield from (part.span for part in item.related if part.path in (None, item.path))
    yield from (edit.span for edit in (item.fix.edits if item.fix is not None else ()))
    if finding.about is not None:
        yield finding.about
