"""Source files: decoding, lines and columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.source import Position, SourceError, SourceFile, Span


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


@given(st.text(alphabet="a\n\ré"), st.text(alphabet="a\n\ré"), st.data())
def test_a_file_after_an_edit_has_the_lines_of_its_text(text: str, new: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    after = SourceFile("x", text).replaced(Span(start, end), new)
    assert after.text == text[:start] + new + text[end:]
    expected = [0, *(match.end() for match in re.finditer(r"\r\n?|\n", after.text))]
    assert after.line_starts == expected
    for offset in range(len(after.text) + 1):
        line = sum(first <= offset for first in expected) - 1
        assert after.line_at(offset) == (line, expected[line])


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
