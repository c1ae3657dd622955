"""What was found in a text, kept for the next one: only what an edit can have changed is checked again.

What is found in an entry depends on its text and on what was looked up in the file as a whole
(:mod:`derivlint.model.query`). An entry whose piece of the text is the same keeps its findings, at their new places,
unless something that it read would be answered otherwise now. The next text may differ in any number of places.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct
from msgspec.structs import replace

from derivlint.analysis.analyses import work_out
from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.engine.precedence import Claim
from derivlint.lint.engine.result import Result
from derivlint.lint.engine.run import Checker, Raw
from derivlint.lint.rule import Rule
from derivlint.model import Model, build_models
from derivlint.model.index import index_named, load_module_of
from derivlint.model.layout import Layout, marked_layout
from derivlint.model.model import FACTS, Plain, RecordedFact, Row
from derivlint.model.query import Read
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader.pieces import Pieces, pieces_of, read_pieces

#: For as many entries analyses are worked out one after the other.
MANY = 200


class Stopped(BaseException):
    """A check that no one waits for any more; no rule may take it for an error of its own.

    Attributes:
        kept: what was found until then.
    """

    def __init__(self, kept: Kept | None) -> None:
        super().__init__()
        self.kept = kept


class Found(Struct, frozen=True):
    """What was found in one entry, or in the file as a whole, where no check crashed.

    Attributes:
        claims: what rules say, at its places in the text, before findings yield to others.
        reads: what was looked up meanwhile.
    """

    claims: tuple[Claim, ...]
    reads: frozenset[Read]


class Kept(Struct, frozen=True):
    """What was found in a text: plain data, which can be kept on disk.

    Attributes:
        text: the text.
        bounds: where the piece of each entry begins, and where the last one ends.
        entries: what was found in each; None where it was not checked, or a check crashed.
        file: what was found in the file as a whole; None where it was not checked.
        indexed: what each index has of each entry, by the name of the index.
        facts: the facts of the file as a whole that were asked for.
        entry_facts: the facts of entries that were asked for, by the name of the fact and the position of the entry.
        flawed: the pieces in which the YAML has problems; -1 stands for what comes before the first.
    """

    text: str
    bounds: tuple[int, ...]
    entries: tuple[Found | None, ...]
    file: Found | None
    indexed: dict[str, list[Row]]
    facts: list[tuple[Read, RecordedFact]]
    entry_facts: dict[str, dict[int, RecordedFact]]
    flawed: frozenset[int]

    def piece(self, index: int) -> str:
        """The text of an entry with what is below it."""
        return self.text[self.bounds[index] : self.bounds[index + 1]]


class CheckedText(Struct, frozen=True):
    """What the rules found in a text.

    Attributes:
        model: its model.
        result: the findings of all rules but those about suppressions.
        kept: what the check of a later text can use; None where texts of its kind are checked as a whole.
        checked: how many entries were checked, the others being as they were.
    """

    model: Model
    result: Result
    kept: Kept | None
    checked: int


def models_of(
    source: SourceFile,
    natives: NativeFunctions,
    layout: Layout | None = None,
    version: str | None = None,
    kept: Kept | None = None,
) -> tuple[Model, ...]:
    """The models of a text, as :func:`~derivlint.model.build_models` builds them.

    With what was found in an earlier text, only what is new is read, if the text is a plain list.
    """
    if kept is not None and _is_read_alike(source, kept):
        known = {kept.piece(index) for index in range(len(kept.entries)) if index not in kept.flawed}
        pieces = read_pieces(source, known)
        if pieces is not None:
            return (Model(pieces, natives, layout),)
    return build_models(source, natives, layout, version)


def check_text(
    model: Model,
    rules: Iterable[Rule],
    *,
    kept: Kept | None = None,
    stop: Callable[[], bool] | None = None,
) -> CheckedText:
    """Check a text, using what was found in an earlier one with the same operators and rules.

    Args:
        model: a model of the text.
        rules: the rules.
        kept: what was found in the earlier text.
        stop: says whether no one waits any more, and is asked before each entry; None where someone surely does.

    Raises:
        Stopped: no one waits any more.
    """
    checker = Checker(model, rules)
    document = model.document
    if kept is not None and not _is_read_alike(model.source, kept):
        kept = None
    if isinstance(document, Pieces):
        return _Recheck(model, checker, document.bounds, kept, stop).run()
    bounds = pieces_of(document) if model.layout.entries is None and model.versions is None else None
    if bounds is None:
        results: list[Raw] = []
        for raw in checker.everything():
            results.append(raw)
            if stop is not None and stop():
                raise Stopped(None)
        return CheckedText(model, checker.settled(results), None, len(model.entries))
    return _Recheck(model, checker, bounds, kept, stop).run()


def _is_read_alike(source: SourceFile, kept: Kept) -> bool:
    """Whether a text is read as the earlier one was: an edit can make a file one of another project."""
    return marked_layout(source.text) is marked_layout(kept.text)


class _Recheck:
    """The check of a text that is a plain list."""

    def __init__(
        self,
        model: Model,
        checker: Checker,
        bounds: tuple[int, ...],
        kept: Kept | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self.model = model
        self.checker = checker
        self.bounds = bounds
        self.kept = kept
        self.stop = stop
        count = len(bounds) - 1
        #: for each entry its position in the earlier text, where its piece was the same
        self.earlier: list[int | None] = [None] * count
        #: for each entry of the earlier text how far it moved; None where it is gone
        self.shift: list[int | None] = []
        self.found: list[Found | None] = [None] * count
        self.file: Found | None = None
        self.crashed: list[Raw] = []

    def run(self) -> CheckedText:
        """Check what has to be checked."""
        if self.kept is not None:
            self._take_over(self.kept)
        checked = 0
        unknown = [index for index, known in enumerate(self.found) if known is None]
        # who may stop a check wants what was found until then, entry by entry
        if self.stop is None and len(unknown) >= MANY:
            work_out(self.model, [self.model.entries[index] for index in unknown])
        for index, known in enumerate(self.found):
            if known is None:
                if self.stop is not None and self.stop():
                    raise Stopped(self._kept())
                entry = self.model.entries[index]
                self.found[index] = self._found(*self.model.recorded(self.checker.entry, entry))
                checked += 1
        if self.file is None:
            if self.stop is not None and self.stop():
                raise Stopped(self._kept())
            self.file = self._found(*self.model.recorded(self.checker.file))
        every = [found for found in (self.file, *self.found) if found is not None]
        raw = [Raw(found.claims) for found in every if found.claims]
        return CheckedText(self.model, self.checker.settled([*raw, *self.crashed]), self._kept(), checked)

    def _found(self, raw: Raw, reads: frozenset[Read]) -> Found | None:
        if raw.crashed:
            self.crashed.append(raw)
            return None
        return Found(raw.claims, reads)

    def _kept(self) -> Kept:
        model = self.model
        # places in headers do not move with the text
        elsewhere = self.file is not None and any(claim.diagnostic.elsewhere for claim in self.file.claims)
        return Kept(
            model.source.text,
            self.bounds,
            tuple(self.found),
            None if elsewhere else self.file,
            model.indexed,
            list(model.facts.items()),
            model.entry_facts,
            frozenset(bisect_right(self.bounds, each.span.start) - 1 for each in model.document.problems),
        )

    def _take_over(self, kept: Kept) -> None:
        text = self.model.source.text
        pieces = [text[start:end] for start, end in zip(self.bounds, self.bounds[1:], strict=False)]
        before = [kept.piece(index) for index in range(len(kept.entries))]
        self.shift = [None] * len(before)
        for old, new in _same(before, pieces):
            self.earlier[new] = old
            self.shift[old] = self.bounds[new] - kept.bounds[old]
        touched = self._touched(kept)
        for index, same in enumerate(self.earlier):
            found = kept.entries[same] if same is not None else None
            if found is not None and touched.isdisjoint(found.reads):
                self.found[index] = self._moved(kept, found)
        now = {same: index for index, same in enumerate(self.earlier) if same is not None}
        for name, facts in kept.entry_facts.items():
            self.model.entry_facts[name] = {
                now[at]: fact for at, fact in facts.items() if at in now and touched.isdisjoint(fact.reads)
            }
        sound = not kept.flawed and not self.model.document.problems
        if sound and kept.file is not None and touched.isdisjoint(kept.file.reads):
            self.file = self._moved(kept, kept.file)

    def _touched(self, kept: Kept) -> set[Read]:
        """What would be answered otherwise than in the earlier text."""
        touched: set[Read] = set()
        gone = [old for old, shift in enumerate(self.shift) if shift is None]
        new = [index for index, old in enumerate(self.earlier) if old is None]
        for name, rows in kept.indexed.items():
            index = index_named(name)
            if index is None:
                continue
            own = {at: tuple(index.find(self.model.entries[at])) for at in new}
            self.model.indexed[name] = [own[at] if old is None else rows[old] for at, old in enumerate(self.earlier)]
            before = _by_key(rows[old] for old in gone)
            after = _by_key(own[at] for at in new)
            for key in before.keys() | after.keys():
                touched.add(Read(name, key, True))
                if before.get(key) != after.get(key):
                    touched.add(Read(name, key))
        # facts rest on each other, so that those which changed touch more
        waiting = dict(kept.facts)
        changed = True
        while changed:
            changed = False
            for read, fact in list(waiting.items()):
                if not touched.isdisjoint(fact.reads):
                    del waiting[read]
                    load_module_of(read.source)
                    find = FACTS.get(read.source)
                    if find is None or self.model.fact(find, read.key) != fact.value:
                        touched.add(read)
                        changed = True
        self.model.facts.update(waiting)
        return touched

    def _moved(self, kept: Kept, found: Found) -> Found | None:
        """Findings of the earlier text at their places in this one; None where one points at what is gone."""
        if not found.claims:
            return found
        moved = []
        for claim in found.claims:
            there = self._moved_diagnostic(kept, claim.diagnostic)
            about = self._moved_span(kept, claim.about) if claim.about is not None else None
            if there is None or (about is None and claim.about is not None):
                return None
            moved.append(replace(claim, diagnostic=there, about=about))
        return Found(tuple(moved), found.reads)

    def _moved_diagnostic(self, kept: Kept, item: Diagnostic) -> Diagnostic | None:
        span = self._moved_span(kept, item.span)
        if span is None:
            return None
        related = []
        for part in item.related:
            place = part.span if part.path not in (None, item.path) else self._moved_span(kept, part.span)
            if place is None:
                return None
            related.append(replace(part, span=place))
        fix = item.fix
        if fix is not None:
            edits = []
            for edit in fix.edits:
                place = self._moved_span(kept, edit.span)
                if place is None:
                    return None
                edits.append(replace(edit, span=place))
            fix = replace(fix, edits=tuple(edits))
        return replace(item, span=span, related=tuple(related), fix=fix)

    def _moved_span(self, kept: Kept, span: Span) -> Span | None:
        """The same characters in this text; None where they are gone."""
        last = len(self.shift) - 1
        first = max(bisect_right(kept.bounds, span.start) - 1, 0)
        shift = self.shift[min(first, last)] if self.shift else None
        if shift is None or span.end > kept.bounds[min(first, last) + 1]:
            return None
        return span.shift(shift)


def _by_key(rows: Iterable[Row]) -> dict[str, list[Plain]]:
    found: dict[str, list[Plain]] = {}
    for row in rows:
        for key, value in row:
            found.setdefault(key, []).append(value)
    return found


def _same(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The positions of equal pieces in two texts, in the same order in both."""
    first = 0
    limit = min(len(before), len(after))
    while first < limit and before[first] == after[first]:
        yield first, first
        first += 1
    last = 0
    while last < limit - first and before[-1 - last] == after[-1 - last]:
        last += 1
    inner, other = before[first : len(before) - last], after[first : len(after) - last]
    if inner and other:
        for block in SequenceMatcher(None, inner, other, autojunk=False).get_matching_blocks():
            for offset in range(block.size):
                yield first + block.a + offset, first + block.b + offset
    for offset in range(last, 0, -1):
        yield len(before) - offset, len(after) - offset
