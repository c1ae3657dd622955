"""The parts of the server without a server: positions, texts, and the edits between texts."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from derivlint.lint.edits import edited
from derivlint.lsp.code_actions import smallest_edit, wants, yaml_value
from derivlint.lsp.documents import (
    UTF8,
    UTF16,
    UTF32,
    OpenDocument,
    Positions,
    characters,
    path_of,
    preferred_encoding,
    units,
    uri_of,
)
from derivlint.lsp.position_mapper import StaleTextMap
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Mapping, Scalar, read_yaml

CODECS = {UTF8: ("utf-8", 1), UTF16: ("utf-16-le", 2), UTF32: ("utf-32-le", 4)}
TEXTS = st.text(st.sampled_from("ab é😀\u2028\x85\x0b\r\n"), max_size=30)


def naive_units(text: str, encoding: str) -> int:
    """The length in code units, by encoding it."""
    codec, size = CODECS[encoding]
    return len(text.encode(codec)) // size


@given(TEXTS, st.sampled_from(sorted(CODECS)))
def test_lengths_are_those_of_the_encoded_text(text: str, encoding: str) -> None:
    assert units(text, encoding) == naive_units(text, encoding)
    for index in range(len(text) + 1):
        assert characters(text, naive_units(text[:index], encoding), encoding) == index
    assert characters(text, 10**6, encoding) == len(text)


@given(TEXTS, st.sampled_from(sorted(CODECS)))
def test_positions_come_back_and_lines_end_where_the_protocol_says(text: str, encoding: str) -> None:
    positions = Positions(SourceFile("f", text), encoding)
    for offset in range(len(text) + 1):
        position = positions.position(offset)
        before = text[:offset]
        # between the two characters of a line end, a position is on the line that they end
        whole = before.replace("\r\n", "\n").replace("\r", "\n") if text[offset - 1 : offset + 1] != "\r\n" else None
        if whole is not None or offset == 0:
            lines = (whole or "").split("\n")
            assert position == types.Position(len(lines) - 1, naive_units(lines[-1], encoding))
            assert positions.offset(position) == offset
    assert positions.offset(types.Position(10**6, 0)) == len(text)


def test_a_unit_inside_of_a_character_means_its_beginning() -> None:
    positions = Positions(SourceFile("f", "a😀b\n"), UTF16)
    assert positions.offset(types.Position(0, 2)) == 1
    assert positions.offset(types.Position(0, 99)) == 3


def test_utf16_is_taken_where_it_is_offered() -> None:
    offers: list[list[str] | None] = [None, [], ["utf-8", "utf-16"], ["utf-8"], ["utf-32", "utf-8"], ["utf-7"]]
    assert [preferred_encoding(offer) for offer in offers] == ["utf-16"] * 3 + ["utf-8", "utf-32", "utf-16"]


@given(
    TEXTS,
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), TEXTS), max_size=5),
    st.sampled_from(sorted(CODECS)),
)
def test_changes_are_applied_one_after_the_other(text: str, changes: list[tuple[int, int, str]], encoding: str) -> None:
    document = OpenDocument("file:///f.yaml", 0, text)
    expected = text
    for version, (first, second, new) in enumerate(changes, 1):
        positions = Positions(SourceFile("f", expected), encoding)
        start, end = sorted(min(offset, len(expected)) for offset in (first, second))
        where = types.Range(positions.position(start), positions.position(end))
        start, end = positions.span(where)
        document.change(version, [types.TextDocumentContentChangePartial(range=where, text=new)], encoding)
        expected = expected[:start] + new + expected[end:]
        assert (document.source.text, document.version) == (expected, version)


def test_files_have_uris_and_texts_without_a_file_have_names(tmp_path: Path) -> None:
    path = tmp_path / "a b é.yaml"
    assert path_of(uri_of(path)) == path
    assert path_of("untitled:derivatives.yaml") == Path.cwd() / "derivatives.yaml"
    assert path_of("git:/x/derivatives.yaml?%7B%7D").name == "derivatives.yaml"


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_places_of_an_earlier_text_are_found_in_a_later_one(before: str, after: str) -> None:
    source = SourceFile("f", after)
    analysis = _Known(SourceFile("f", before))
    view = StaleTextMap.of(source, analysis)  # type: ignore[arg-type]  # only its text counts
    for offset in range(len(after) + 1):
        assert 0 <= view.to_analyzed(offset) <= len(before)
        if offset < view.start or offset > view.end:
            span = view.to_shown(Span(view.to_analyzed(offset), view.to_analyzed(offset)))
            assert span.start == offset
    assert view.is_exact == (before == after)


class _Known:
    def __init__(self, source: SourceFile) -> None:
        self.source = source


@given(st.text(st.sampled_from("abc\n\r"), max_size=20), st.text(st.sampled_from("abc\n\r"), max_size=20))
def test_the_edits_between_two_texts_make_one_of_the_other(before: str, after: str) -> None:
    assert edited(before, smallest_edit(before, after)) == after


@given(st.text(st.sampled_from("ab :#\"'\\{}[]-?&*!|>%@`,é"), min_size=1, max_size=12))
def test_a_text_is_written_as_a_value_that_is_read_back(text: str) -> None:
    written = yaml_value(text)
    assert written is not None
    root = read_yaml(SourceFile("f", f"key: {written}\n")).root
    assert isinstance(root, Mapping)
    value = root.pairs[0].value
    assert isinstance(value, Scalar)
    assert (value.value, value.kind) == (text, "str")


def test_kinds_of_actions_include_those_below_them() -> None:
    assert wants(None, "quickfix")
    assert wants([""], "quickfix")
    assert wants(["source"], "source.fixAll.derivlint")
    assert not wants(["source.fix"], "source.fixAll.derivlint")
    assert not wants(["refactor"], "quickfix")
