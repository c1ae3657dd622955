"""What was found in a text, kept for the next one: only what an edit can have changed is checked again.

What is found in an entry depends on its text and on what was looked up in the file as a whole
(:mod:`derivlint.model.query`). An entry whose piece of the text is the same keeps its findings, at their new places,
unless something that it read would be answered otherwise now. The next text may differ in any number of places.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct, msgpack

from derivlint.analysis.analyses import prepare, work_out
from derivlint.lint.engine.found import Found, Move
from derivlint.lint.engine.past import REMEMBERED, Answering, Past
from derivlint.lint.engine.processes import processes_for, shared_out
from derivlint.lint.engine.readers import Readers
from derivlint.lint.engine.result import Result
from derivlint.lint.engine.run import Asked, Checker, Raw
from derivlint.lint.engine.settled import FoundText, Settled, settle
from derivlint.lint.rule import Rule
from derivlint.model import Model, build_models
from derivlint.model.index import Gap, Plain, Row, Rows, fill_gaps, index_named
from derivlint.model.layout import Layout, marked_layout
from derivlint.model.model import RecordedFact
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


class Kept(Struct, frozen=True, dict=True):
    """What was found in a text: plain data, which can be kept on disk.

    Attributes:
        cut: the text, in pieces for each entry.
        entries: what was found in each; None where it was not checked, or a check crashed.
        claimed: the positions of those in which something was found.
        file: what was found in the file as a whole; None where it was not checked.
        indexed: what each index has of each entry, by the name of the index.
        facts: the facts of the file as a whole that were asked for.
        entry_facts: the facts of each entry that were asked for, by the name of the fact.
        flawed: the pieces in which the YAML has problems; -1 stands for what comes before the first.
    """

    cut: Cut
    entries: tuple[Found | None, ...]
    claimed: tuple[int, ...]
    file: Found | None
    indexed: dict[str, list[Row]]
    facts: dict[Read, RecordedFact]
    entry_facts: dict[str, list[RecordedFact | None]]
    flawed: frozenset[int]

    @cached_property
    def readers(self) -> Readers:
        """Who looked up what; where many edits are expected, it is worked out for one text, and handed on from there.

        For a single edit that takes longer than to look through all entries.
        """
        entries = (found.reads if found is not None else () for found in self.entries)
        readers = Readers.of(entries, self.reads_of_facts)
        for facts in self.entry_facts.values():
            for index, fact in enumerate(facts):
                if fact is not None:
                    readers.add_entry(index, fact.reads)
        return readers

    @cached_property
    def rows(self) -> dict[str, Rows]:
        """What each index has of each entry; where many edits are expected, it is found by key."""
        numbers = self.readers.numbers
        return {name: rows if isinstance(rows, Rows) else Rows(rows, numbers) for name, rows in self.indexed.items()}

    def prepare(self) -> None:
        """Work out at once what the checks of many later texts need."""
        for rows in self.rows.values():
            _ = rows.by_key

    @property
    def reads_of_facts(self) -> Iterator[tuple[Read, frozenset[Read]]]:
        """What each fact of the file as a whole looked up."""
        return ((read, fact.reads) for read, fact in self.facts.items())

    @cached_property
    def known_settled(self) -> Settled | None:
        """What is left of that; None where it has to be found out. It is not kept on disk."""
        return None

    @cached_property
    def unknown(self) -> list[int]:
        """The positions of entries of which nothing is known."""
        return [index for index, found in enumerate(self.entries) if found is None]

    @cached_property
    def marked(self) -> Layout | None:
        """The layout that the text gives away."""
        return marked_layout(SourceFile("", self.cut.text))

    @property
    def known_readers(self) -> Readers | None:
        """Who looked up what; None where that was not worked out."""
        return self.__dict__.get("readers")

    @property
    def past(self) -> Past:
        """What was found in earlier texts, where that is remembered; it is not kept on disk."""
        past: Past = self.__dict__.setdefault("_past", Past())
        return past

    def with_readers(self, readers: Readers, past: Past) -> Kept:
        """The same, where it is known who looked up what.

        Args:
            readers: who did.
            past: what was found in earlier texts.
        """
        self.__dict__.update(readers=readers, _past=past)
        return self


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
    entry_facts: dict[str, list[RecordedFact | None]]


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
        return _Recheck(model, checker, Cut(document.source.text, document.bounds, document.ends), kept, stop).run()
    bounds = pieces_of(document) if model.layout.entries is None and model.versions is None else None
    if bounds is None:
        results: list[Raw] = []
        for raw in checker.everything():
            results.append(raw)
            if stop is not None and stop():
                raise Stopped(None)
        return CheckedText(model, checker.settled(results), None, len(model.entries))
    return _Recheck(model, checker, Cut(document.source.text, bounds), kept, stop).run()


def _is_read_alike(source: SourceFile, kept: Kept) -> bool:
    """Whether a text is read as the earlier one was: an edit can make a file one of another project."""
    return marked_layout(source) is kept.marked


class _Recheck:
    """The check of a text that is a plain list."""

    def __init__(
        self,
        model: Model,
        checker: Checker,
        cut: Cut,
        kept: Kept | None,
        stop: Callable[[], bool] | None,
    ) -> None:
        self.model = model
        self.checker = checker
        self.cut = cut
        self.kept = kept
        self.stop = stop
        self.count = len(cut.bounds) - 1
        #: the runs of entries whose pieces are the same as in the earlier text
        self.same: tuple[tuple[int, int, int], ...] = ()
        #: what is between these
        self.gaps: list[Gap] = []
        #: the positions there of entries that are gone
        self.gone: list[int] = []
        #: the positions of those that are new
        self.new: list[int] = []
        self.found: list[Found | None] = [None] * self.count
        #: the positions of those of which nothing is known
        self.unknown: set[int] = set()
        #: the positions of those in which something else may be found than in the earlier text
        self.changed: set[int] = set()
        #: entries that only some rules have to be asked about again, with the positions of these
        self.again: dict[int, frozenset[int]] = {}
        self.readers: Readers | None = None
        #: what was found in earlier texts
        self.past = Past()
        self.file: Found | None = None
        self.crashed: list[Raw] = []

    def run(self) -> CheckedText:
        """Check what has to be checked."""
        if self.kept is not None:
            self._take_over(self.kept)
        else:
            self.unknown.update(range(self.count))
        unknown = sorted({*self.unknown, *self.again})
        # who may stop a check wants what was found until then, entry by entry
        if self.stop is None and len(unknown) >= MANY:
            self._check_many(unknown)
        for index in unknown:
            if self.found[index] is None or index in self.again:
                self._go_on()
                self._add(index, self._check(index))
        if self.file is None:
            self._go_on()
            raw = self._sound(self.checker.file())
            self.file = Found(raw.claims, raw.asked) if raw is not None else None
        settled = self._settle()
        return CheckedText(self.model, settled.result, self._kept(settled), len(unknown))

    def _settle(self) -> Settled:
        """Find out what is left of all that was found; of most entries that is what was left in the earlier text."""
        whole = (*([Raw(self.file.claims)] if self.file is not None else ()), *self.crashed)
        text = FoundText(self.cut.bounds, self.found, whole)
        before = self.kept.known_settled if self.kept is not None else None
        return settle(self.checker, text, sorted(self.changed), self.same, before)

    def _go_on(self) -> None:
        """Raise where no one waits any more."""
        if self.stop is not None and self.stop():
            raise Stopped(self._kept())

    def _check(self, index: int) -> Found | None:
        """What is found in an entry; where something is known of it, only the rules are asked that have to be."""
        entry, known, only = self.model.entries[index], self.found[index], self.again.pop(index, None)
        if known is None or only is None:
            return self._found(index, self.checker.entry(entry))
        raw = self.checker.narrowed(only).entry(entry)
        if raw.crashed:
            return self._found(index, self.checker.entry(entry))
        names = self.checker.names_of(only)
        kept = (Asked(each.rules - only, each.reads) for each in known.asked if not each.rules <= only)
        before = known.claims_at(self.cut.bounds[index])
        claims = (claim for claim in before if claim.diagnostic.rule not in names)
        return Found.of((*claims, *raw.claims), (*kept, *raw.asked), self.cut.piece(index))

    def _found(self, index: int, raw: Raw) -> Found | None:
        """What was found in an entry, if no check crashed."""
        sound = self._sound(raw)
        return Found.of(sound.claims, sound.asked, self.cut.piece(index)) if sound is not None else None

    def _sound(self, raw: Raw) -> Raw | None:
        """What was found, if no check crashed."""
        if raw.crashed:
            self.crashed.append(raw)
            return None
        return raw

    def _add(self, index: int, found: Found | None) -> None:
        """Take what was found in an entry."""
        self.found[index] = found
        self.changed.add(index)
        if found is None:
            self.unknown.add(index)
            return
        self.unknown.discard(index)
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
                    found[index] = Found.of(raw.claims, raw.asked, self.cut.piece(index))
        return _Share(found, model.indexed, model.facts, model.entry_facts)

    def _take_share(self, share: _Share) -> None:
        model = self.model
        for index, found in share.found.items():
            self._add(index, found)
        model.indexed.update(share.indexed)
        model.facts.update(share.facts)
        model.new_facts += share.facts
        for name, facts in share.entry_facts.items():
            own = model.entry_facts.setdefault(name, facts)
            for index, fact in enumerate(facts):
                if fact is not None:
                    own[index] = fact
                    model.new_entry_facts.append((index, fact.reads))

    def _kept(self, settled: Settled | None = None) -> Kept | None:
        """What was found; None where it was not noted what it rests on.

        Args:
            settled: what is left of that; None where the check is stopped.
        """
        model = self.model
        if not model.is_noted:
            return None
        # places in headers do not move with the text
        elsewhere = self.file is not None and any(claim.diagnostic.elsewhere for claim in self.file.claims)
        # who was not asked again is asked about the whole entry next time
        for index in self.again:
            self._add(index, None)
        readers = self.readers
        kept = Kept(
            self.cut,
            tuple(self.found),
            tuple(settled.claimed if settled is not None else _claimed(self.found)),
            None if elsewhere else self.file,
            model.indexed,
            model.facts,
            model.entry_facts,
            frozenset(bisect_right(self.cut.bounds, each.span.start) - 1 for each in model.document.problems),
        )
        kept.__dict__.update(unknown=sorted(self.unknown), marked=marked_layout(model.source), known_settled=settled)
        if readers is None:
            return kept
        for read in model.new_facts:
            readers.add_fact(read, model.facts[read].reads)
        for index, reads in model.new_entry_facts:
            readers.add_entry(index, reads)
        return kept.with_readers(readers, self.past)

    def _take_over(self, kept: Kept) -> None:
        runs = kept.cut.same_as(self.cut, self.model.source.since(kept.cut.text))
        self.same = tuple(run for run in runs if run[2])
        self.gaps = [*_gaps(self.same, len(kept.entries), self.count)]
        self.gone = [at for old, _ in self.gaps for at in old]
        self.new = [at for _, new in self.gaps for at in new]
        nothing = dict.fromkeys(self.new)
        self.found = [*kept.entries]
        fill_gaps(self.found, self.gaps, nothing)
        self.unknown.update(self.new)
        self.unknown.update(there for old in kept.unknown if (there := self._place(old)) is not None)
        self.past = kept.past
        readers = kept.known_readers.after(self.same, self.count) if kept.known_readers is not None else None
        if readers is not None:
            self.model.numbers = readers.numbers
        touched = self._touched(kept, readers)
        settled = kept.known_settled
        for old in kept.claimed if settled is None else settled.joint:
            there = self._place(old)
            found = self.found[there] if there is not None else None
            if there is None or found is None:
                continue
            if not found.is_inside:
                self._add(there, found.moved(self._move(kept), self.cut.bounds[there]))
            elif settled is None:
                self.changed.add(there)
        self.readers = readers
        concerned = range(self.count) if readers is None else readers.entries_that_read(touched)
        for index in concerned:
            found = self.found[index]
            only = found.to_ask(touched) if found is not None else None
            if only and self.checker.has(only):
                self.again[index] = only
            elif only:
                self._add(index, None)
        for name, before in kept.entry_facts.items():
            facts = self.model.entry_facts[name] = [*before]
            fill_gaps(facts, self.gaps, nothing)
            for index in concerned:
                fact = facts[index]
                if fact is not None and not touched.isdisjoint(fact.reads):
                    facts[index] = None
        if kept.known_readers is not None and readers is not None and len(self.unknown) + len(self.again) <= REMEMBERED:
            self._recall(kept, kept.known_readers, readers)
        sound = not kept.flawed and not self.model.document.problems
        if sound and kept.file is not None and not kept.file.to_ask(touched):
            self.file = kept.file.moved(self._move(kept), 0)

    def _recall(self, kept: Kept, before: Readers, readers: Readers) -> None:
        """Take over what was found in entries as they are again; remember those that change."""
        self.past = kept.past.copy()
        then = Answering(kept.cut, before.numbers, kept.indexed, kept.facts.get)
        now = Answering(self.cut, readers.numbers, self.model.indexed, self.model.fact_of)
        for index in sorted({*self.unknown, *self.again}):
            text, number, replaced = self.cut.text_of(index), readers.numbers[index], self.found[index]
            recalled = self.past.recall(text, number, now)
            if replaced is not None:
                self.past.remember(text, replaced, number, then)
            if recalled is not None:
                self.again.pop(index, None)
                self._add(index, recalled)
        for old in self.gone:
            gone = kept.entries[old]
            if gone is not None:
                self.past.remember(kept.cut.text_of(old), gone, before.numbers[old], then)

    def _touched(self, kept: Kept, readers: Readers | None) -> set[Read]:
        """What would be answered otherwise than in the earlier text."""
        touched: set[Read] = set()
        self.model.indexed = {}
        for name, rows in kept.indexed.items():
            index = index_named(name)
            if index is None:
                continue
            own = {at: tuple(index.find(self.model.entries[at])) for at in self.new}
            # an entry that has moved past others may change their order
            before = _by_key((old - number, rows[old]) for number, old in enumerate(self.gone))
            after = _by_key((at - number, own[at]) for number, at in enumerate(self.new))
            if readers is None:
                every = [*rows]
                fill_gaps(every, self.gaps, own)
            else:
                every = kept.rows[name].replaced(self.gaps, own, readers.numbers)
            self.model.indexed[name] = every
            for key in before.keys() | after.keys():
                touched.add(Read(name, key, True))
                if before.get(key) != after.get(key):
                    touched.add(Read(name, key))
        _Settling(self.model, kept, touched).run()
        return touched

    def _place(self, old: int) -> int | None:
        """Where an entry of the earlier text is in this one; None where it is gone."""
        first, new, size = self.same[max(bisect_right(self.same, old, key=_first) - 1, 0)] if self.same else (0, 0, 0)
        return new + old - first if first <= old < first + size else None

    def _move(self, kept: Kept) -> Move:
        """Where characters of the earlier text are in this one; None where they are gone."""
        bounds = kept.cut.bounds

        def move(span: Span) -> Span | None:
            old = min(max(bisect_right(bounds, span.start) - 1, 0), len(bounds) - 2)
            new = self._place(old)
            if new is None or span.end > kept.cut.piece(old).end:
                return None
            return span.shift(self.cut.bounds[new] - bounds[old])

        return move


class _Settling:
    """Takes over the facts that still hold, and adds to what is touched those that have changed."""

    def __init__(self, model: Model, kept: Kept, touched: set[Read]) -> None:
        self._model = model
        self._touched = touched
        self._readers = kept.known_readers or Readers.of((), kept.reads_of_facts)
        facts = model.facts = kept.facts.copy()
        #: what may have changed: it is not asked before it is settled
        uncertain = self._readers.facts_that_rest_on(touched) & facts.keys()
        self._uncertain = {read: facts.pop(read) for read in uncertain}
        self._waiting = [*touched]

    def run(self) -> None:
        """Settle what rests on something that is touched; most facts stay the same, and with them those on them."""
        while self._waiting:
            for fact in self._readers.facts_that_read(self._waiting.pop()):
                self._settle(fact)
        self._model.facts.update(self._uncertain)

    def _settle(self, read: Read) -> None:
        """Find out whether a fact has changed, after those that it rests on."""
        before = self._uncertain.pop(read, None)
        if before is None:
            return
        for each in before.reads & self._uncertain.keys():
            self._settle(each)
        model = self._model
        if read not in model.facts and self._touched.isdisjoint(before.reads):
            model.facts[read] = before
            return
        after = model.fact_of(read)
        if after is None or after.value != before.value:
            self._touched.add(read)
            self._waiting.append(read)


def _gaps(same: Iterable[tuple[int, int, int]], before: int, count: int) -> Iterator[Gap]:
    """What is between the runs in two texts with so many entries."""
    old = new = 0
    for first, there, size in (*same, (before, count, 0)):
        if old < first or new < there:
            yield range(old, first), range(new, there)
        old, new = first + size, there + size


def _first(run: tuple[int, int, int]) -> int:
    return run[0]


def _claimed(found: Iterable[Found | None]) -> list[int]:
    """The positions of entries in which something was found."""
    return [index for index, each in enumerate(found) if each is not None and each.claims]


def _by_key(rows: Iterable[tuple[int, Row]]) -> dict[str, list[tuple[int, Plain]]]:
    """What an index has under each key of some entries, with how many of the other ones come before each."""
    found: dict[str, list[tuple[int, Plain]]] = {}
    for before, row in rows:
        for key, value in row:
            found.setdefault(key, []).append((before, value))
    return found
