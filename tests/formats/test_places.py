"""Places in units of consumers, and paths as they know them."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.formats.places import (
    byte_position,
    relative_path,
    repository_root,
    shown_range,
    shown_span,
    uri,
)
from derivlint.source import Position, SourceFile, Span

TEXTS = st.text(st.sampled_from("a é😀\n\r\t\ufeff\u2028"), max_size=20)


@given(TEXTS, st.data())
def test_byte_columns_are_those_of_the_encoded_line(text: str, data: st.DataObject) -> None:
    source = SourceFile("d.yaml", text)
    offset = data.draw(st.integers(0, len(text)))
    line, column = source.position(offset)
    encoded = text[source.line_starts[line - 1] :].encode()
    found = byte_position(source, offset)
    assert found.line == line
    assert encoded[: found.column - 1].decode() == text[source.line_starts[line - 1] : offset]
    assert found.column >= column


@given(TEXTS, st.data())
def test_a_shown_range_lies_inside_the_range_and_on_lines_with_text(text: str, data: st.DataObject) -> None:
    source = SourceFile("d.yaml", text)
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    shown = shown_span(source, Span(start, end))
    assert shown.start <= shown.end <= end
    assert text[shown.end : end].strip("\r\n") == ""
    if start != len(text):
        assert shown.start == start
    assert shown_range(source, Span(start, end)) == (source.position(shown.start), source.position(shown.end))


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Span(0, 2), (Position(1, 1), Position(1, 3))),
        (Span(0, 3), (Position(1, 1), Position(1, 3))),
        (Span(1, 4), (Position(1, 2), Position(2, 2))),
        (Span(3, 6), (Position(2, 1), Position(2, 3))),
        (Span(6, 6), (Position(2, 3), Position(2, 3))),
        (Span(2, 3), (Position(1, 3), Position(1, 3))),
    ],
)
def test_a_range_does_not_end_on_a_line_that_it_does_not_cover(span: Span, expected: tuple[Position, Position]) -> None:
    assert shown_range(SourceFile("d.yaml", "ab\ncd\n"), span) == expected


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "a repository"
    (root / ".git").mkdir(parents=True)
    (root / "tools").mkdir()
    monkeypatch.chdir(root / "tools")
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return root


def test_the_root_is_that_of_the_repository_or_the_one_that_the_environment_names(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert repository_root(Path.cwd()) == repository
    monkeypatch.setenv("GITHUB_WORKSPACE", str(repository.parent))
    assert repository_root(Path.cwd()) == repository.parent
    monkeypatch.setenv("GITHUB_WORKSPACE", str(repository / "elsewhere"))
    assert repository_root(Path.cwd()) == repository
    (repository / ".git").rmdir()
    assert repository_root(Path.cwd()) == Path.cwd()


def test_paths_are_relative_to_the_root_whatever_they_were_called(repository: Path) -> None:
    (repository / "tools" / "d.yaml").touch()
    (repository / "tools" / "link.yaml").symlink_to("d.yaml")
    (repository / "tools" / "out.yaml").symlink_to("/etc/hosts")
    found = {
        name: relative_path(name, repository)
        for name in ("d.yaml", "./d.yaml", str(repository / "tools/d.yaml"), "../d.yaml", "link.yaml", "<stdin>")
    }
    assert found == {
        "d.yaml": "tools/d.yaml",
        "./d.yaml": "tools/d.yaml",
        str(repository / "tools/d.yaml"): "tools/d.yaml",
        "../d.yaml": "d.yaml",
        "link.yaml": "tools/d.yaml",
        "<stdin>": "<stdin>",
    }
    assert relative_path("out.yaml", repository) == "tools/out.yaml"
    assert relative_path("../../x.yaml", repository) == str(repository.parent / "x.yaml")


def test_uris_are_quoted_and_absolute_outside_of_the_root(repository: Path) -> None:
    assert uri("a b/é,:#?%.yaml", repository) == "tools/a%20b/%C3%A9%2C%3A%23%3F%25.yaml"
    assert uri("/else where/d.yaml", repository) == "file:///else%20where/d.yaml"
    assert uri(os.fsdecode(b"\xff.yaml"), repository) == "tools/%FF.yaml"


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1))
def test_a_uri_names_the_path(name: str) -> None:
    root = Path.cwd()
    found = uri(f"x{name}", root)
    assert found.isascii()
    assert unquote(found) == f"x{name}"
