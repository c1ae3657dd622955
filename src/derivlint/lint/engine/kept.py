"""What was found in a text, kept for the next one: only what an edit can have changed is checked again.

What is found in an entry depends on its text and on what was looked up in the file as a whole
(:mod:`derivlint.model.query`). An entry whose piece of the text is the same keeps its findings, at their new places,
unless something that it read would be answered otherwise now. The next text may differ in any number of places.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice

from msgspec import Struct, msgpack
from msgspec.structs import replace

from derivlint.analysis.analyses import prepare, work_out
from derivlint.lint.diagnostic import Diagnostic
from derivlint.lint.engine.precedence import Claim
from derivlint.lint.engine.processes import processes_for, shared_out
from derivlint.lint.engine.readers import Readers
from derivlint.lint.engine.result import Result
from derivlint.lint.engine.run import Asked, Checker, Raw
from derivlint.lint.rule import Rule
from derivlint.model import Model, build_models
from derivlint.model.index import Plain, Row, Rows, index_named, load_module_of
from derivlint.model.layout import Layout, marked_layout
from derivlint.model.model import FACTS, RecordedFact
from derivlint.model.query import Read
from derivlint.schema import NativeFunctions
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader.pieces import Cut, Pieces, pieces_of, read_pieces

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
        asked: what was looked up meanwhile.
    """

    claims: tuple[Claim, ...]
    asked: tuple[Asked, ...]

    @property
    def reads(self) -> Iterator[Read]:
        """All that was looked up; some of it more than once."""
        return chain.from_iterable(each.reads for each in self.asked)

    def to_ask(self, touched: set[Read]) -> frozenset[int]:
        """The positions of the rules that looked up something of this."""
        found: frozenset[int] = frozenset()
        for each in self.asked:
            if not touched.isdisjoint(each.reads):
                found |= each.rules
        return found


class Kept(Struct, frozen=True, dict=True):
    """What was found in a text: plain data, which can be kept on disk.

    Attributes:
        cut: the text, in pieces for each entry.
        entries: what was found in each; None where it was not checked, or a check crashed.
        claimed: the positions of those in which something was found.
        file: what was found in the file as a whole; None where it was not checked.
        indexed: what each index has of each entry, by the name of the index.
        facts: the facts of the file as a whole that were asked for.
        entry_facts: the facts of entries that were asked for, by the name of the fact and the position of the entry.
        flawed: the pieces in which the YAML has problems; -1 stands for what comes before the first.
    """

    cut: Cut
    entries: tuple[Found | None, ...]
    claimed: tuple[int, ...]
    file: Found | None
    indexed: dict[str, list[Row]]
    facts: dict[Read, RecordedFact]
    entry_facts: dict[str, dict[int, RecordedFact]]
    flawed: frozenset[int]

    @cached_property
    def readers(self) -> Readers:
        """Who looked up what; where many edits are expected, it is worked out for one text, and handed on from there.

        For a single edit that takes longer than to look through all entries.
        """
        entries = (found.reads if found is not None else () for found in self.entries)
        return Readers.of(entries, self._reads_of_facts)

    @property
    def _reads_of_facts(self) -> Iterator[tuple[Read, frozenset[Read]]]:
        return ((read, fact.reads) for read, fact in self.facts.items())

    @property
    def known_readers(self) -> Readers | None:
        """Who looked up what; None where that was not worked out."""
        return self.__dict__.get("readers")

    def with_readers(self, readers: Readers) -> Kept:
        """The same, where it is known who looked up what."""
        self.__dict__["readers"] = readers
        return self

    def facts_that_rest_on(self, touched: set[Read]) -> set[Read]:
        """The facts of the file as a whole that looked up one of these, or a fact that did, and so on."""
        readers = self.known_readers or Readers.of((), self._reads_of_facts)
        return readers.facts_that_rest_on(touched) & self.facts.keys()


class _Share(Struct, frozen=True):
    """What was found in some of the entries; plain data, which a process hands to another one.

    Attributes:
        found: what was found in each where no check crashed, by its position.
        indexed: as of :class:`Kept`.
        facts: likewise.
        entry_facts: likewise.
    """

    found: dict[int, Found]
    indexed: dict[str, list[Row]]
    facts: dict[Read, RecordedFact]
    entry_facts: dict[str, dict[int, RecordedFact]]


class CheckedText(Struct, frozen=True):
    """What the rules found in a text.

    Attributes:
        model: its model.
        result: the findings of all rules but those about suppressions.
        kept: what the check of a later text can use; None where texts of its kind are checked as a whole, or it was
            not noted what is looked up.
        checked: how many entries were checked, by some rules at least, the others being as they were.
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
    *,
    keeps: bool = True,
) -> tuple[Model, ...]:
    """The models of a text, as :func:`~derivlint.model.build_models` builds them.

    With what was found in an earlier text, only what is new is read, if the text is a plain list.

    Args:
        source: the text.
        natives: the operators.
        layout: how it holds its entries; by default what it looks like.
        version: of a text that serves several versions the only one that is wanted.
        kept: what was found in the earlier text.
        keeps: whether what is found is kept for a later text.
    """
    if kept is not None and _is_read_alike(source, kept):
        pieces = read_pieces(source, kept.cut, kept.flawed)
        if pieces is not None:
            return (Model(pieces, natives, layout, is_noted=keeps),)
    return build_models(source, natives, layout, version, is_noted=keeps)


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
    return marked_layout(source.text) is marked_layout(kept.cut.text)


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
        self.cut = Cut(model.source.text, bounds)
        self.kept = kept
        self.stop = stop
        self.count = len(bounds) - 1
        #: the runs of entries whose pieces are the same as in the earlier text
        self.same: tuple[tuple[int, int, int], ...] = ()
        #: for each entry of the earlier text its position; None where it is gone
        self.now: list[int | None] = []
        self.found: list[Found | None] = [None] * self.count
        #: the positions of entries in which something was found
        self.claimed: set[int] = set()
        #: entries that only some rules have to be asked about again, with the positions of these
        self.again: dict[int, frozenset[int]] = {}
        self.readers: Readers | None = None
        #: how many facts were taken over; those after them are new
        self.taken = 0
        self.file: Found | None = None
        self.crashed: list[Raw] = []

    def run(self) -> CheckedText:
        """Check what has to be checked."""
        if self.kept is not None:
            self._take_over(self.kept)
        unknown = sorted({*self._unknown(), *self.again})
        # who may stop a check wants what was found until then, entry by entry
        if self.stop is None and len(unknown) >= MANY:
            self._check_many(unknown)
        for index in unknown:
            if self.found[index] is None or index in self.again:
                self._go_on()
                self._add(index, self._check(index))
        if self.file is None:
            self._go_on()
            self.file = self._sound(self.checker.file())
        every = (self.file, *(self.found[index] for index in sorted(self.claimed)))
        raw = [Raw(found.claims) for found in every if found is not None]
        return CheckedText(self.model, self.checker.settled([*raw, *self.crashed]), self._kept(), len(unknown))

    def _unknown(self) -> list[int]:
        return [index for index, known in enumerate(self.found) if known is None]

    def _go_on(self) -> None:
        """Raise where no one waits any more."""
        if self.stop is not None and self.stop():
            raise Stopped(self._kept())

    def _check(self, index: int) -> Found | None:
        """What is found in an entry; where something is known of it, only the rules are asked that have to be."""
        entry, known, only = self.model.entries[index], self.found[index], self.again.pop(index, None)
        if known is None or only is None:
            return self._sound(self.checker.entry(entry))
        raw = self.checker.narrowed(only).entry(entry)
        if raw.crashed:
            return self._sound(self.checker.entry(entry))
        names = self.checker.names_of(only)
        kept = (Asked(each.rules - only, each.reads) for each in known.asked if not each.rules <= only)
        claims = (claim for claim in known.claims if claim.diagnostic.rule not in names)
        return Found((*claims, *raw.claims), (*kept, *raw.asked))

    def _sound(self, raw: Raw) -> Found | None:
        """What was found, if no check crashed."""
        if raw.crashed:
            self.crashed.append(raw)
            return None
        return Found(raw.claims, raw.asked)

    def _add(self, index: int, found: Found | None) -> None:
        """Take what was found in an entry."""
        self.found[index] = found
        self.claimed.discard(index)
        if found is not None:
            if found.claims:
                self.claimed.add(index)
            if self.readers is not None:
                self.readers.add_entry(index, found.reads)

    def _check_many(self, indexes: Sequence[int]) -> None:
        """Check entries, several at a time where there are processors; those on which a check crashes are left."""
        for index in indexes:
            self._add(index, None)
        self.again.clear()
        number = processes_for(len(indexes))
        if number == 1:
            self._take_share(self._checked_share([indexes]))
            return
        prepare(self.model, [self.model.entries[index] for index in indexes])
        own, others = shared_out(self._checked_share, msgpack.encode, indexes, number)
        for share in (own, *(msgpack.decode(data, type=_Share) for data in others)):
            self._take_share(share)

    def _checked_share(self, parts: Iterable[Sequence[int]]) -> _Share:
        model = self.model
        found = {}
        for part in parts:
            entries = [model.entries[index] for index in part]
            work_out(model, entries)
            for index, raw in zip(part, self.checker.entries(entries), strict=True):
                if not raw.crashed:
                    found[index] = Found(raw.claims, raw.asked)
        return _Share(found, model.indexed, model.facts, model.entry_facts)

    def _take_share(self, share: _Share) -> None:
        model = self.model
        for index, found in share.found.items():
            self._add(index, found)
        model.indexed.update(share.indexed)
        model.facts.update(share.facts)
        for name, facts in share.entry_facts.items():
            model.entry_facts.setdefault(name, {}).update(facts)

    def _kept(self) -> Kept | None:
        """What was found; None where it was not noted what it rests on."""
        model = self.model
        if not model.is_noted:
            return None
        # places in headers do not move with the text
        elsewhere = self.file is not None and any(claim.diagnostic.elsewhere for claim in self.file.claims)
        # who was not asked again is asked about the whole entry next time
        for index in self.again:
            self._add(index, None)
        is_worn = self.readers is not None and self.readers.is_worn
        kept = Kept(
            self.cut,
            tuple(self.found),
            tuple(sorted(self.claimed)),
            None if elsewhere else self.file,
            # with new numbers, indexes are made anew
            {name: list(rows) for name, rows in model.indexed.items()} if is_worn else model.indexed,
            model.facts,
            model.entry_facts,
            frozenset(bisect_right(self.cut.bounds, each.span.start) - 1 for each in model.document.problems),
        )
        if self.readers is None:
            return kept
        if is_worn:
            return kept.with_readers(kept.readers)
        # facts are noted in the order in which they were worked out
        for read, fact in islice(reversed(model.facts.items()), len(model.facts) - self.taken):
            self.readers.add_fact(read, fact.reads)
        return kept.with_readers(self.readers)

    def _take_over(self, kept: Kept) -> None:
        self.same = tuple(kept.cut.same_as(self.cut))
        self.now = [None] * len(kept.entries)
        for old, new, size in self.same:
            self.now[old : old + size] = range(new, new + size)
            self.found[new : new + size] = kept.entries[old : old + size]
        readers = kept.known_readers
        if readers is not None:
            readers = readers.after(self.same, self.count)
            self.model.numbers = readers.numbers
        self.model.indexed = {}
        touched = self._touched(kept)
        for old in kept.claimed:
            there = self.now[old]
            found = self.found[there] if there is not None else None
            if there is not None and found is not None:
                self._add(there, self._moved(kept, found))
        self.readers = readers
        concerned = range(self.count) if readers is None else readers.entries_that_read(touched)
        for index in concerned:
            found = self.found[index]
            only = found.to_ask(touched) if found is not None else None
            if only and self.checker.has(only):
                self.again[index] = only
            elif only:
                self._add(index, None)
        for name, facts in kept.entry_facts.items():
            self.model.entry_facts[name] = {
                there: fact
                for at, fact in facts.items()
                if (there := self.now[at]) is not None and touched.isdisjoint(fact.reads)
            }
        sound = not kept.flawed and not self.model.document.problems
        if sound and kept.file is not None and not kept.file.to_ask(touched):
            self.file = self._moved(kept, kept.file)

    def _touched(self, kept: Kept) -> set[Read]:
        """What would be answered otherwise than in the earlier text."""
        touched: set[Read] = set()
        gone = [old for old, there in enumerate(self.now) if there is None]
        new = _others(self.same, self.count)
        for name, rows in kept.indexed.items():
            index = index_named(name)
            if index is None:
                continue
            own = {at: tuple(index.find(self.model.entries[at])) for at in new}
            # an entry that has moved past others may change their order
            before = _by_key((old - number, rows[old]) for number, old in enumerate(gone))
            after = _by_key((at - number, own[at]) for number, at in enumerate(new))
            every: list[Row] = [()] * self.count
            for old, there, size in self.same:
                every[there : there + size] = rows[old : old + size]
            for at, row in own.items():
                every[at] = row
            if isinstance(rows, Rows) and self.model.numbers:
                every = rows.replaced(every, gone, new, self.model.numbers, self.model.place)
            self.model.indexed[name] = every
            for key in before.keys() | after.keys():
                touched.add(Read(name, key, True))
                if before.get(key) != after.get(key):
                    touched.add(Read(name, key))
        self._take_over_facts(kept, touched)
        return touched

    def _take_over_facts(self, kept: Kept, touched: set[Read]) -> None:
        """Take over the facts that still hold, and add to what is touched those that have changed."""
        facts = self.model.facts = kept.facts.copy()
        uncertain = {read: facts.pop(read) for read in kept.facts_that_rest_on(touched)}
        self.taken = len(facts)
        for read in tuple(uncertain):
            self._settle(read, uncertain, touched)

    def _settle(self, read: Read, uncertain: dict[Read, RecordedFact], touched: set[Read]) -> None:
        """Find out whether a fact has changed, after those that it rests on."""
        before = uncertain.pop(read, None)
        if before is None:
            return
        for each in before.reads & uncertain.keys():
            self._settle(each, uncertain, touched)
        facts = self.model.facts
        if read not in facts:
            if touched.isdisjoint(before.reads):
                facts[read] = before
                return
            load_module_of(read.source)
            find = FACTS.get(read.source)
            if find is None:
                touched.add(read)
                return
            self.model.fact(find, read.key)
        if facts[read].value != before.value:
            touched.add(read)

    def _moved(self, kept: Kept, found: Found) -> Found | None:
        """Findings of the earlier text at their places in this one; None where one points at what is gone."""
        moved = []
        for claim in found.claims:
            there = self._moved_diagnostic(kept, claim.diagnostic)
            about = self._moved_span(kept, claim.about) if claim.about is not None else None
            if there is None or (about is None and claim.about is not None):
                return None
            is_here = there is claim.diagnostic and about == claim.about
            moved.append(claim if is_here else replace(claim, diagnostic=there, about=about))
        return Found(tuple(moved), found.asked)

    def _moved_diagnostic(self, kept: Kept, item: Diagnostic) -> Diagnostic | None:
        span = self._moved_span(kept, item.span)
        if span is None:
            return None
        fix = item.fix
        if not item.related and fix is None:
            return item if span == item.span else replace(item, span=span)
        related = []
        for part in item.related:
            place = part.span if part.path not in (None, item.path) else self._moved_span(kept, part.span)
            if place is None:
                return None
            related.append(replace(part, span=place))
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
        bounds = kept.cut.bounds
        old = min(max(bisect_right(bounds, span.start) - 1, 0), len(self.now) - 1)
        new = self.now[old] if self.now else None
        if new is None or span.end > bounds[old + 1]:
            return None
        return span.shift(self.cut.bounds[new] - bounds[old])


def _others(same: Iterable[tuple[int, int, int]], count: int) -> list[int]:
    """The positions of entries of a text that are in none of the runs."""
    found: list[int] = []
    after = 0
    for _, new, size in (*same, (0, count, 0)):
        found += range(after, new)
        after = new + size
    return found


def _by_key(rows: Iterable[tuple[int, Row]]) -> dict[str, list[tuple[int, Plain]]]:
    """What an index has under each key of some entries, with how many of the other ones come before each."""
    found: dict[str, list[tuple[int, Plain]]] = {}
    for before, row in rows:
        for key, value in row:
            found.setdefault(key, []).append((before, value))
    return found
