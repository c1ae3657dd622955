"""Source files: decoding, lines and columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.source import Position, SourceError, SourceFile, Span, line_starts


def test_positions_count_lines_and_code_points_from_one() -> None:
    source = SourceFile("x", "a\nbé𝄞c\r\nd\re")
    assert [source.position(source.text.index(char)) for char in "abcde"] == [
        Position(1, 1),
        Position(2, 1),
        Position(2, 4),
        Position(3, 1),
        Position(4, 1),
    ]
    assert source.position(len(source.text)) == Position(4, 2)


def test_line_is_without_its_end() -> None:
    source = SourceFile("x", "one\r\ntwo\n\nfour")
    assert [source.line(number) for number in (1, 2, 3, 4)] == ["one", "two", "", "four"]


@given(st.text(alphabet="a\n\ré"))
def test_position_and_line_starts_agree(text: str) -> None:
    """The column of an offset is its distance from the start of its line, and lines cover the text."""
    source = SourceFile("x", text)
    for offset in range(len(text) + 1):
        line, column = source.position(offset)
        assert source.line_starts[line - 1] + column - 1 == offset
        assert 1 <= line <= len(source.line_starts)


@pytest.mark.parametrize("block", [1, 3, 256])
@given(st.text(alphabet="a\n\ré"), st.lists(st.text(alphabet="a\n\ré"), min_size=1, max_size=4), st.data())
def test_a_file_after_edits_has_the_lines_of_its_text(
    block: int, text: str, new: list[str], data: st.DataObject
) -> None:
    after = SourceFile("x", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_starts, "BLOCK", block)
        for inserted in new:
            before = after.text
            start = data.draw(st.integers(0, len(before)))
            end = data.draw(st.integers(start, len(before)))
            after = after.replaced(Span(start, end), inserted)
            assert after.text == before[:start] + inserted + before[end:]
        lines = after.line_starts
    expected = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", after.text))]
    assert [*lines] == [lines[number] for number in range(len(lines))] == expected
    for offset in range(len(after.text) + 1):
        line = sum(start <= offset for start in expected) - 1
        assert lines.around(offset) == (line, expected[line])


@given(st.text(alphabet="aWoİ"), st.text(alphabet="aWOİ"), st.data())
def test_a_file_after_an_edit_has_the_words_of_its_text(text: str, new: str, data: st.DataObject) -> None:
    source = SourceFile("x", text)
    for _ in range(3):
        source.has("wow")
        start = data.draw(st.integers(0, len(source.text)))
        source = source.replaced(Span(start, data.draw(st.integers(start, len(source.text)))), new)
        assert source.has("wow") == ("wow" in source.text.lower())


@given(st.text(alphabet="ab"), st.text(alphabet="ab"), st.data())
def test_it_is_known_where_a_file_differs(text: str, new: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    edited = SourceFile("x", text).replaced(Span(start, data.draw(st.integers(start, len(text)))), new)
    for after, before in ((edited, text), (edited, new), (SourceFile("x", new), text)):
        found = after.since(before)
        assert before[: found.start] == after.text[: found.start]
        assert before[found.before :] == after.text[found.after :]
        assert found.start <= min(found.before, found.after)


def test_byte_order_mark_and_line_ends_stay_in_the_text() -> None:
    source = SourceFile.from_bytes("x", b"\xef\xbb\xbfa: 1\r\n")
    assert source.text == "\ufeffa: 1\r\n"
    assert source.undecodable is None


def test_first_undecodable_byte_has_a_place() -> None:
    source = SourceFile.from_bytes("x", "é: ".encode() + b"\xff!")
    assert source.undecodable == Span(3, 4)
    assert source.position(3) == Position(1, 4)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r'cannot read "gone\.yaml": No such file or directory'):
        SourceFile.read(tmp_path / "gone.yaml", "gone.yaml")
    with pytest.raises(SourceError, match="Is a directory"):
        SourceFile.read(tmp_path)


def test_spans_move_and_cover() -> None:
    assert Span(2, 5).shift(3) == Span(5, 8)
    assert Span(2, 5).cover(Span(4, 9)) == Span(2, 9)
    assert Span(2, 9).contains(Span(2, 5))
    assert not Span(2, 5).contains(Span(4, 6))
