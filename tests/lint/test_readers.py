"""Who looked up what, from one text to the next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from derivlint.lint.engine.readers import SPARE, Readers
from derivlint.model.query import Read

NAMES = "abcd"


def read(name: str) -> Read:
    return Read("an index", name)


@given(st.data())
def test_entries_are_found_whatever_comes_and_goes_between_them(data: st.DataObject) -> None:
    """Each text keeps some entries of the one before, in their order, among new ones."""
    entries = [frozenset(data.draw(st.sets(st.sampled_from(NAMES)))) for _ in range(data.draw(st.integers(0, 5)))]
    readers = Readers.of([map(read, each) for each in entries], [])
    for _ in range(data.draw(st.integers(1, 4))):
        stay = [at for at in range(len(entries)) if data.draw(st.booleans())]
        after: list[frozenset[str] | None] = [entries[at] for at in stay]
        places = list(stay)
        for _ in range(data.draw(st.integers(0, 3))):
            at = data.draw(st.integers(0, len(after)))
            after.insert(at, None)
            places.insert(at, -1)
        same = [(old, new, 1) for new, old in enumerate(places) if old >= 0]
        readers = readers.after(same, len(after))
        assert len(set(readers.numbers)) == len(after)
        entries = []
        for at, known in enumerate(after):
            if known is None:
                known = frozenset(data.draw(st.sets(st.sampled_from(NAMES))))
                readers.add_entry(at, map(read, known))
            entries.append(known)
        for name in NAMES:
            assert readers.entries_that_read([read(name)]) == [at for at, each in enumerate(entries) if name in each]


def test_facts_rest_on_facts() -> None:
    readers = Readers.of([], [(read("b"), [read("a")]), (read("c"), [read("b")]), (read("d"), [read("x")])])
    assert readers.facts_that_rest_on([read("a")]) == {read("b"), read("c")}
    assert readers.facts_that_rest_on([read("c")]) == set()


def test_what_was_noted_of_entries_that_are_gone_is_forgotten_at_last() -> None:
    readers = Readers.of([[]] * 10, [])
    texts = 0
    while not readers.is_worn:
        readers = readers.after([(1, 1, 9)], 10)
        texts += 1
    assert texts == SPARE * 110 - 9
