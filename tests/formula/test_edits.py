"""Tokens tile the text, trees print as they were written, and edits keep every other character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.formula import Edit, apply_edits, parse_formula, render, tokens, walk

ALPHABET = "ab1._:<>()[]{},;?+-*/&|=!~^%\"'\\ \n\t$@\u2212é²\u00a0\u200b"


@given(st.text(st.sampled_from(ALPHABET), max_size=40))
def test_tokens_tile_any_text(text: str) -> None:
    position = 0
    for token in tokens(text):
        assert (token.start, token.text) == (position, text[position : token.end])
        assert token.end > token.start
        position = token.end
    assert position == len(text)


@given(st.text(st.sampled_from(ALPHABET), max_size=40))
def test_any_text_gives_a_tree_or_one_problem_that_lies_in_it(text: str) -> None:
    formula = parse_formula(text)
    assert len(formula.problems) <= 1
    assert formula.problems or formula.tree is not None
    for problem in formula.problems:
        assert problem.kind
        assert "\n" not in problem.message.replace(text, "")
        assert 0 <= problem.start <= problem.end <= len(text)
        assert problem.start < problem.end or not text
        assert all(0 <= start < end <= len(text) for _, start, end in problem.related)


@given(st.text(max_size=40))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    formula = parse_formula(text)
    assert render(formula) == text
    assert all(word.text for word in formula.words)
    assert isinstance(formula.names, tuple)


@pytest.mark.parametrize(
    "text",
    [
        "  grad *self /* c */ . sum( dim ,{ 1 } )  ",
        "std::vector< std::vector<int64_t>>{ } ",
        "fmap(x, [ ] (int64_t i){return - i ;})",
    ],
)
def test_a_tree_prints_as_it_was_written(text: str) -> None:
    formula = parse_formula(text)
    assert formula.tree is not None
    assert render(formula) == text
    for node in walk(formula.tree):
        assert render(formula, node) == text[node.start : node.end]


def test_edits_replace_insert_and_delete() -> None:
    edits = [Edit(7, 11, "other"), Edit(0, 0, "("), Edit(4, 4, ")"), Edit(4, 5, "")]
    assert apply_edits("grad * self", edits) == "(grad)* other"


def test_insertions_in_one_place_keep_their_order() -> None:
    assert apply_edits("x", [Edit(1, 1, "a"), Edit(1, 1, "b")]) == "xab"


@pytest.mark.parametrize(
    "edits", [[Edit(0, 2, ""), Edit(1, 3, "")], [Edit(2, 1, "")], [Edit(0, 5, "")], [Edit(-1, 0, "")]]
)
def test_edits_that_overlap_or_leave_the_text_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="overlaps another one or lies outside the text"):
        apply_edits("abcd", edits)


@given(st.text("abc", max_size=20), st.lists(st.tuples(st.integers(0, 20), st.text("XY", max_size=3)), max_size=5))
def test_edits_keep_everything_outside_of_them(text: str, wanted: list[tuple[int, str]]) -> None:
    starts = sorted({place for place, _ in wanted if place < len(text)})
    edits = [Edit(start, start + 1, new) for start, (_, new) in zip(starts, wanted, strict=False)]
    changed = {edit.start: edit.text for edit in edits}
    expected = "".join(changed.get(position, char) for position, char in enumerate(text))
    assert apply_edits(text, reversed(edits)) == expected
