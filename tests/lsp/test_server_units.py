"""The parts of the server without a server: positions, texts, what an edit leaves, and the check of a part."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from msgspec.structs import replace

from derivlint.lint import TextEdit
from derivlint.lsp.checker import Checked, check_whole
from derivlint.lsp.code_actions import edited, smallest_edit, wants
from derivlint.lsp.documents import OpenDocument, path_of, uri_of
from derivlint.lsp.entry_actions import yaml_value
from derivlint.lsp.incremental import check_edit
from derivlint.lsp.positions import UTF8, UTF16, UTF32, Positions, characters, preferred_encoding, units
from derivlint.lsp.regions import boundaries, find_edit
from derivlint.lsp.view import View
from derivlint.lsp.workspace import Project, Projects
from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Mapping, Scalar, Sequence, read_yaml

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


ITEMS = "# top\n- a: 1\n# of b\n- b: 2  # at b\n\n- c: 3\n# end\n"


def test_comments_above_an_item_and_behind_it_belong_to_it() -> None:
    source = SourceFile("f", ITEMS)
    root = read_yaml(source).root
    assert isinstance(root, Sequence)
    bounds = boundaries(source, root)
    assert bounds is not None
    parts = [ITEMS[start:end] for start, end in zip(bounds, [*bounds[1:], len(ITEMS)], strict=True)]
    assert parts == ["# top\n- a: 1\n", "# of b\n- b: 2  # at b\n", "\n- c: 3\n", "# end\n"]
    edit = find_edit(ITEMS, ITEMS.replace("b: 2", "b: 20"), bounds)
    assert edit is not None
    assert (edit.first, edit.last, edit.delta, edit.part(0), edit.part(2)) == (1, 2, 1, Span(0, 13), Span(36, 44))


@given(st.text(st.sampled_from("-ab: \n\r#"), max_size=12), st.integers(0, 60), st.integers(0, 6))
def test_what_an_edit_leaves_alone_is_the_same_text(new: str, start: int, length: int) -> None:
    source = SourceFile("f", ITEMS)
    root = read_yaml(source).root
    assert isinstance(root, Sequence)
    bounds = boundaries(source, root)
    assert bounds is not None
    after = ITEMS[:start] + new + ITEMS[start + length :]
    edit = find_edit(ITEMS, after, bounds)
    if edit is None:
        return
    for index in range(len(bounds) - 1):
        if not edit.first <= index < edit.last:
            assert SourceFile("f", after).slice(edit.part(index)) == ITEMS[bounds[index] : bounds[index + 1]]


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_places_of_an_earlier_text_are_found_in_a_later_one(before: str, after: str) -> None:
    source = SourceFile("f", after)
    analysis = _Known(SourceFile("f", before))
    view = View.of(source, analysis)  # type: ignore[arg-type]  # only its text counts
    for offset in range(len(after) + 1):
        assert 0 <= view.inward(offset) <= len(before)
        if offset < view.start or offset > view.end:
            span = view.outward(Span(view.inward(offset), view.inward(offset)))
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


# ---- the check of a part


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """What a file anywhere is checked with."""
    return Projects().of(tmp_path_factory.mktemp("project") / "derivatives.yaml", SourceFile("derivatives.yaml", ""))


@pytest.fixture(scope="module")
def real(project: Project, derivatives_path: Path) -> Checked:
    """The file that the installed torch ships."""
    return check_whole(SourceFile("derivatives.yaml", derivatives_path.read_text(encoding="utf-8")), project)


def random_edit(text: str, seed: int) -> str:
    """A text after an edit as somebody makes who types."""
    choose = random.Random(seed)
    at = choose.randrange(len(text))
    kind = choose.choice(["insert", "delete", "replace", "line"])
    if kind == "insert":
        return text[:at] + choose.choice(["x", " ", "grad", "(", "\n", "self * ", "# note\n", "'"]) + text[at:]
    if kind == "delete":
        return text[:at] + text[at + choose.randint(1, 4) :]
    if kind == "replace":
        return text[:at] + choose.choice("abc()* :\"'") + text[at + 1 :]
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at) + 1
    return text[:start] + text[end:]


@pytest.mark.parametrize("seed", range(10))
def test_after_an_edit_the_part_and_the_whole_are_found_the_same(real: Checked, project: Project, seed: int) -> None:
    source = SourceFile(real.source.path, random_edit(real.source.text, seed))
    part = check_edit(source, project, real)
    if part is None:
        return
    assert not part.is_final
    whole = check_whole(source, project)
    assert [(item, item.severity, item.help, item.fix) for item in part.shown] == [
        (item, item.severity, item.help, item.fix) for item in whole.shown
    ]


SMALL = """\
- name: abs(Tensor self) -> Tensor
  self: grad * self.sgn()

# derivlint: ignore[undefined-name] why not
- name: neg(Tensor self) -> Tensor
  self: gard.neg()

- name: sin(Tensor self) -> Tensor
  self: grad * self.cos().conj()
"""


def parts(project: Project, before: str, after: str) -> tuple[list[str], list[str]]:
    """What is found after an edit, in the part and in the whole; the part must be enough."""
    base = check_whole(SourceFile("f.yaml", before), project)
    assert before != after
    source = SourceFile("f.yaml", after)
    part = check_edit(source, project, base)
    assert part is not None
    whole = check_whole(source, project)
    in_part, in_whole = ([f"{item.span.start} {item.rule}" for item in found.shown] for found in (part, whole))
    return in_part, in_whole


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("abs(Tensor self)", "abs(Tensor slef)"),
        ("gard", "grda"),
        ("gard", "grad"),
        ("[undefined-name]", "[undefined-nam]"),
        ("# derivlint: ignore[undefined-name] why not\n", ""),
        ("name: sin", "name: abs"),
        ("self.sgn()", "(self.sgn()"),
        ("  self: gard.neg()", "  self: gard.neg()\n  self: grad"),
        ("- name: neg", "- nmae: neg"),
        ("  self: grad * self.sgn()\n", ""),
        ("gard.neg()\n", "gard.neg()\n# why\n  result: auto_linear\n"),
        ("# derivlint", "  self: grad\n# derivlint"),
        ("gard.neg()", '"gard.neg()'),
    ],
)
def test_an_edit_of_a_small_file_is_judged_like_the_whole(project: Project, old: str, new: str) -> None:
    part, whole = parts(project, SMALL, SMALL.replace(old, new, 1))
    assert part == whole


def test_new_entries_and_other_projects_need_the_whole(project: Project) -> None:
    base = check_whole(SourceFile("f.yaml", SMALL), project)
    more = SourceFile("f.yaml", SMALL + "\n- name: cos(Tensor self) -> Tensor\n  self: grad\n")
    assert check_edit(more, project, base) is None
    same = SourceFile("f.yaml", SMALL.replace("gard", "x"))
    assert check_edit(same, replace(project), base) is None
    assert check_edit(same, project, base) is not None
    anchors = check_whole(SourceFile("f.yaml", SMALL.replace("gard.neg()", "&a grad") + "  result: *a\n"), project)
    assert check_edit(same, project, anchors) is None


def test_a_fix_that_reaches_into_the_edited_entry_is_not_offered(project: Project) -> None:
    base = check_whole(SourceFile("f.yaml", SMALL.replace("ignore", "igore")), project)
    item = next(item for item in base.shown if item.rule == "undefined-name")
    assert item.fix is not None
    crossing = replace(item, fix=replace(item.fix, edits=(TextEdit(Span(40, 41), ""),)))
    source = SourceFile("f.yaml", base.source.text.replace("grad * self.sgn", "grad  * self.sgn", 1))
    found = check_edit(source, project, replace(base, shown=(crossing,)))
    assert found is not None
    moved = next(part for part in found.shown if part.rule == "undefined-name")
    assert (moved.span, moved.fix) == (item.span.shift(1), None)
