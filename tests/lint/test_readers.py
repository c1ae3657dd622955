"""Who looked up what, from one text to the next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from derivlint.lint.engine.readers import SPARE, Readers
from derivlint.model.index import SPACING
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
        later = readers.after(same, len(after))
        assert later is not None
        readers = later
        assert [*readers.numbers] == sorted(set(readers.numbers))
        assert len(readers.numbers) == len(after)
        entries = []
        for at, known in enumerate(after):
            if known is None:
                known = frozenset(data.draw(st.sets(st.sampled_from(NAMES))))
                readers.add_entry(at, map(read, known))
            entries.append(known)
        for name in NAMES:
            found = readers.entries_that_read([read(name)])
            # one that took the place, and the number, of another one may be among them
            assert [at for at in found if name in entries[at]] == [
                at for at, each in enumerate(entries) if name in each
            ]


def test_facts_rest_on_facts() -> None:
    readers = Readers.of([], [(read("b"), [read("a")]), (read("c"), [read("b")]), (read("d"), [read("x")])])
    assert readers.facts_that_rest_on([read("a")]) == {read("b"), read("c")}
    assert readers.facts_that_rest_on([read("c")]) == set()


def test_what_was_noted_of_entries_that_are_gone_is_forgotten_at_last() -> None:
    readers = Readers.of([[]] * 10, [])
    texts = 0
    while (later := readers.after([(1, 1, 9)], 10)) is not None:
        readers = later
        texts += 1
    assert texts == SPARE * 110


def test_one_begins_anew_where_there_is_no_number_between_two_others() -> None:
    """Each time an entry is written after the one that was written last, before the same one."""
    readers = Readers.of([[]] * 2, [])
    count = 2
    while (later := readers.after([(0, 0, count - 1), (count - 1, count, 1)], count + 1)) is not None:
        readers = later
        assert [*readers.numbers] == sorted(set(readers.numbers))
        count += 1
    assert count == 2 + SPACING.bit_length() - 1
