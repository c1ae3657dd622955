"""Applying fixes: which are applied together, in which order, and that nothing else of a text changes."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.lint import Confidence, Diagnostic, Fix, Severity, TextEdit
from derivlint.lint.fixing import OffsetMap, apply_fixes, fixable
from derivlint.source import SourceFile, Span

Edit = tuple[int, int, str]


def diagnostic(*edits: Edit, safe: bool = True, path: str = "d.yaml", message: str = "m") -> Diagnostic:
    fix = Fix("fix it", tuple(TextEdit(Span(start, end), text) for start, end, text in edits), safe=safe)
    return Diagnostic(path, Span(0, 1), "rule", message, Severity.ERROR, Confidence.HIGH, fix=fix if edits else None)


def applied(text: str, *diagnostics: Diagnostic, unsafe: bool = False) -> tuple[str, list[int], list[int]]:
    """The new text, and the positions of the diagnostics that were applied and skipped."""
    outcome = apply_fixes(SourceFile("d.yaml", text), diagnostics, unsafe=unsafe)
    return (
        outcome.text,
        [diagnostics.index(item) for item in outcome.applied],
        [diagnostics.index(item) for item in outcome.skipped],
    )


def numbered(*fixes: tuple[Edit, ...]) -> list[Diagnostic]:
    return [diagnostic(*edits, message=f"m{number}") for number, edits in enumerate(fixes)]


def test_fixes_at_different_places_are_applied_together() -> None:
    found = numbered(((4, 5, "X"),), ((0, 1, "A"), (2, 2, "+")))
    assert applied("abcdef", *found) == ("Ab+cdXf", [1, 0], [])


def test_of_two_that_overlap_the_first_by_place_is_applied() -> None:
    found = numbered(((1, 3, "X"),), ((0, 2, "Y"),))
    assert applied("abcd", *found) == ("Ycd", [1], [0])


def test_a_fix_is_applied_as_a_whole_or_not_at_all() -> None:
    found = numbered(((0, 1, "A"),), ((0, 1, "B"), (3, 4, "D")))
    assert applied("abcd", *found) == ("Abcd", [0], [1])


@pytest.mark.parametrize(
    ("first", "second"), [((2, 2, "x"), (2, 2, "y")), ((0, 2, "x"), (2, 2, "y")), ((2, 2, "x"), (2, 4, "y"))]
)
def test_insertions_that_touch_another_edit_wait(first: Edit, second: Edit) -> None:
    """Which of the two texts comes first would be a guess."""
    assert applied("abcd", *numbered((first,), (second,)))[1:] == ([0], [1])


def test_replacements_side_by_side_are_applied_together() -> None:
    assert applied("abcd", *numbered(((0, 2, "x"),), ((2, 4, "y"),))) == ("xy", [0, 1], [])


def test_an_edit_that_two_fixes_share_is_made_once() -> None:
    found = numbered(((1, 1, "+"), (3, 4, "D")), ((1, 1, "+"),))
    assert applied("abcd", *found) == ("a+bcD", [0, 1], [])


def test_edits_of_one_fix_that_overlap_are_refused() -> None:
    assert applied("abcd", *numbered(((0, 2, "x"), (1, 3, "y")))) == ("abcd", [], [0])


def test_a_fix_that_changes_nothing_is_neither_applied_nor_skipped() -> None:
    assert applied("abcd", *numbered(((1, 2, "b"),))) == ("abcd", [], [])


def test_unsafe_fixes_have_to_be_asked_for() -> None:
    found = [diagnostic((0, 1, "A"), safe=False), diagnostic((1, 2, "B"), message="n")]
    assert applied("ab", *found) == ("aB", [1], [])
    assert applied("ab", *found, unsafe=True) == ("AB", [0, 1], [])
    assert [fixable(item) for item in found] == [False, True]
    assert not fixable(diagnostic())


def test_fixes_of_other_files_are_left_out() -> None:
    assert applied("ab", diagnostic((0, 1, "A"), path="native_functions.yaml")) == ("ab", [], [])


EDITS = st.tuples(st.integers(0, 12), st.integers(0, 4), st.sampled_from(["", "x", "yy"])).map(
    lambda edit: (edit[0], min(12, edit[0] + edit[1]), edit[2])
)
FIXES = st.lists(st.lists(EDITS, min_size=1, max_size=3).map(tuple), max_size=6)


@given(fixes=FIXES, order=st.randoms(use_true_random=False))
def test_the_outcome_is_that_of_disjoint_edits_whatever_the_order(fixes: list[tuple[Edit, ...]], order: Random) -> None:
    """The edits are those of the applied fixes, and disjoint; other characters are kept; the order is not an input."""
    text = "\ufeffab\r\ncd é😀\nf"
    source = SourceFile("d.yaml", text)
    found = numbered(*fixes)
    outcome = apply_fixes(source, found)
    spans = [edit.span for edit in outcome.edits]
    assert all(left.end <= right.start for left, right in pairwise(spans))
    made = {(edit.span.start, edit.span.end, edit.text) for edit in outcome.edits}
    assert made == {edit for item in outcome.applied for edit in fixes[found.index(item)]}
    expected = text
    for edit in reversed(outcome.edits):
        expected = expected[: edit.span.start] + edit.text + expected[edit.span.end :]
    assert outcome.text == expected
    shuffled = list(found)
    order.shuffle(shuffled)
    assert apply_fixes(source, shuffled) == outcome


@given(fixes=FIXES, offset=st.integers(0, 12))
def test_a_place_outside_of_all_edits_moves_with_its_character(fixes: list[tuple[Edit, ...]], offset: int) -> None:
    text = "abcdefghijklm"
    outcome = apply_fixes(SourceFile("d.yaml", text), numbered(*fixes))
    if not any(edit.span.start <= offset < edit.span.end for edit in outcome.edits):
        place = OffsetMap(outcome.edits).to(offset)
        inserted = next((edit.text for edit in outcome.edits if edit.span == (offset, offset)), "")
        assert outcome.text[place:].startswith(inserted + text[offset])
