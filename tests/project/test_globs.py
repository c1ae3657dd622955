"""Patterns of paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.project.globs import PathGlob


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("d.yaml", "/p/a/b/d.yaml", True),
        ("d.yaml", "/p/a/b/dd.yaml", False),
        ("b", "/p/a/b/d.yaml", True),
        ("b/", "/p/a/b/d.yaml", True),
        # the folder above the configuration is not looked at
        ("p", "/p/a/d.yaml", False),
        ("*.yaml", "/p/a/d.yaml", True),
        ("a/*.yaml", "/p/a/d.yaml", True),
        ("./a/*.yaml", "/p/a/d.yaml", True),
        ("a/*.yaml", "/p/a/b/d.yaml", False),
        ("a/*.yaml", "/p/x/a/d.yaml", False),
        ("a/*", "/p/a/b/d.yaml", True),
        ("a/**/*.yaml", "/p/a/b/c/d.yaml", True),
        ("a/**/*.yaml", "/p/a/d.yaml", True),
        ("**/b/*", "/p/a/b/d.yaml", True),
        ("**/b/*", "/p/b/d.yaml", True),
        ("a/b?/d.yaml", "/p/a/bc/d.yaml", True),
        ("a/b?c", "/p/a/b/c", False),
        ("[ab].yaml", "/p/a.yaml", True),
        ("[!ab].yaml", "/p/a.yaml", False),
        ("[!ab].yaml", "/p/c.yaml", True),
        ("[z-a].yaml", "/p/b.yaml", False),
        ("[z-a].yaml", "/p/[z-a].yaml", True),
        ("a[", "/p/a[", True),
        ("a.c", "/p/abc", False),
        ("/q/*", "/q/d.yaml", True),
        ("/p/a/*", "/p/a/d.yaml", True),
        ("*.yaml", "/q/d.yaml", True),
        ("a/é 😀.yaml", "/p/a/é 😀.yaml", True),
    ],
)
def test_a_pattern_matches(pattern: str, path: str, expected: bool) -> None:
    assert PathGlob(pattern, Path("/p")).matches(Path(path)) is expected


@given(st.text("ab*?[]!-/\\.^", max_size=8), st.text("ab[]!-\\.^", min_size=1, max_size=5))
def test_any_pattern_can_be_asked(pattern: str, name: str) -> None:
    assert PathGlob(pattern, Path("/p")).matches(Path("/p") / name) in (True, False)


@given(st.lists(st.text("ab-. é", min_size=1, max_size=4).filter(lambda part: part not in (".", "..")), min_size=1))
def test_a_path_without_wildcards_matches_itself_and_what_is_in_it(parts: list[str]) -> None:
    text = "/".join(parts)
    glob = PathGlob(text, Path("/p"))
    assert glob.matches(Path("/p", text))
    assert glob.matches(Path("/p", text, "more"))
