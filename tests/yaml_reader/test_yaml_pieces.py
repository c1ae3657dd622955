"""The pieces of a list: what a later text shares with it is found, and what is new is read as in the whole text."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from hypothesis import assume, example, given
from hypothesis import strategies as st

from derivlint.source import SourceFile
from derivlint.source.difference import difference
from derivlint.yaml_reader import Sequence
from derivlint.yaml_reader.pieces import Cut, Pieces, pieces_of, read_pieces
from tests.yaml_reader.helpers import dump, read

ITEMS = [
    "- a: b\n",
    "- a: b\n\n",
    "- a: c\n  d: [e, f]\n",
    "# why\n",
    '- a: "b\n    c"\n',
    "- a\n",
    "-\n",
    "- - a\n",
]
TEXTS = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=8).map("".join)
SNIPPETS = st.sampled_from(["", "x", "\n", "- ", "\n- a: z\n", '"', "---\n", "  b: c\n", "-", " ", "\r"])


def cut_of(text: str) -> Cut:
    """A text in pieces; others are not tried."""
    document = read(text)
    bounds = pieces_of(document)
    assume(bounds is not None and not document.problems)
    assert bounds is not None
    return Cut(text, bounds)


def cut_around(pieces: list[tuple[str, str]]) -> Cut:
    """Pieces, each followed by something that is not YAML, or by nothing."""
    bounds = [0]
    ends = {}
    for piece, broken in pieces:
        if broken:
            ends[bounds[-1]] = bounds[-1] + len(piece)
        bounds.append(bounds[-1] + len(piece) + len(broken))
    return Cut("".join(piece + broken for piece, broken in pieces), tuple(bounds), ends)


BROKEN = st.sampled_from(["", "- [\n", "- [[\n"])
CUTS = st.lists(st.tuples(st.sampled_from(ITEMS), BROKEN), min_size=1, max_size=8).map(cut_around)


def items_of(text: str) -> list[object]:
    """The items of a text that is read as a whole."""
    root = read(text).root
    assert isinstance(root, Sequence)
    return [dump(item) for item in root.items]


def items_in(pieces: Pieces) -> list[object]:
    """The items of a text that is read piece by piece."""
    return [dump(item.node, item.start) for item in pieces.items]


def test_a_text_in_which_quotes_hide_an_item_has_no_pieces() -> None:
    """If the YAML breaks elsewhere, each item is read on its own, and the quote is open at the end of its own."""
    hiding = '- a: "b\n- c"\n'
    assert read(hiding).problems == ()
    assert pieces_of(read(hiding)) is None
    assert len(read(hiding + "- d: 'e\n").problems) > 1


@given(CUTS, CUTS)
@example(cut_around([("- a: b\n", ""), ("- a: c\n", "")]), cut_around([("- a: b\n", "")] * 2 + [("- a: c\n", "")]))
@example(cut_around([("- a: b\n", "")]), cut_around([("- a: bc\n", "")]))
def test_runs_of_the_same_pieces_are_found_in_order(one: Cut, two: Cut) -> None:
    places: list[tuple[int, int]] = []
    for old, new, size in one.same_as(two, difference(one.text, two.text)):
        assert one.pieces(old, old + size) == two.pieces(new, new + size)
        assert len({two.bounds[new + at] - one.bounds[old + at] for at in range(size)}) <= 1
        places += zip(range(old, old + size), range(new, new + size), strict=True)
    for (old, new), (next_old, next_new) in pairwise(places):
        assert old < next_old
        assert new < next_new
    if one == two:
        assert places == [(at, at) for at in range(len(one.bounds) - 1)]


def test_pieces_of_a_run_are_as_far_from_each_other() -> None:
    """What is between them and is not YAML may have another length."""
    before, after = "- a: b\n- [\n- c: d\n- e: f\n", "- a: b\n- [[\n- c: d\n- e: g\n"
    one, two = Cut(before, (0, 11, 18, 25), {0: 7}), Cut(after, (0, 12, 19, 26), {0: 7})
    assert [*one.same_as(two, difference(before, after))] == [(0, 0, 0), (0, 0, 1), (1, 1, 1), (3, 3, 0)]


@given(TEXTS, st.integers(0, 60), st.integers(0, 12), SNIPPETS)
@example("- a: b\n- a: c\n", 12, 0, '"')
@example("- a: b\n- a: c\n", 5, 0, '"')
@example("- a: b\n- a: c\n- a\n", 7, 7, "")
@example("- a: b\n", 7, 0, "-")
def test_what_is_new_is_read_as_in_the_whole_text(before: str, start: int, length: int, new: str) -> None:
    known = cut_of(before)
    after = before[:start] + new + before[start + length :]
    found = read_pieces(SourceFile("test.yaml", after), known, frozenset())
    assume(found is not None)
    assert found is not None
    whole = read(after)
    assert bool(found.problems) == bool(whole.problems)
    if found.problems:
        # what is repaired is as it was, whichever pieces have problems
        flawed = frozenset(bisect_right(found.bounds, each.span.start) - 1 for each in found.problems)
        found = read_pieces(SourceFile("test.yaml", before), Cut(after, found.bounds), flawed)
        assume(found is not None)
        assert found is not None
        after, whole = before, read(before)
    # an empty item at the end of a text belongs to no piece of it
    assert pieces_of(whole) in (None, found.bounds)
    assert items_in(found) == items_of(after)
