"""Reading any configuration: mistakes are noted with their places, and nothing else goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from derivlint.project.settings import Settings, find_settings
from derivlint.project.settings.document import Notes, SettingsDocument, load_toml
from derivlint.project.settings.keys import KEYS, UNSET, described, toml
from derivlint.project.settings.lookup import pair, read_settings
from tests.project.test_settings import EVERY_KEY

words = st.sampled_from(
    ["ALL", "unknown-key", "undefined-function", "functions", "usual", "off", "info", "x", "un*", "*.y"]
)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(words, st.booleans(), st.integers(-2, 2), st.text(max_size=3)),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
tables = st.dictionaries(st.sampled_from([*KEYS, "selct"]), values, max_size=4)


def read(text: str) -> tuple[Settings, Notes]:
    notes = Notes()
    return read_settings(SettingsDocument("derivlint.toml", text, Path("/p"), notes, Path("/p/derivlint.toml"))), notes


@given(tables)
def test_any_values_are_read_or_reported_with_a_place_in_the_text(table: dict[str, Any]) -> None:
    text = "".join(f"{key} = {toml(value)}\n" for key, value in table.items())
    settings, notes = read(text)
    lines = text.split("\n")
    for mistake in notes.mistakes:
        assert 1 <= mistake.line <= len(table)
        assert 1 <= mistake.column <= len(lines[mistake.line - 1])
        assert mistake.message
    if notes.mistakes:
        assert settings == Settings()
    else:
        assert list(described(settings))


@given(st.text(max_size=30) | st.text("[]{}=.#\"'\n abselect", max_size=30))
def test_any_text_is_read_or_reported(text: str) -> None:
    _, notes = read(text)
    assert all(mistake.line >= 1 and mistake.column >= 1 for mistake in notes.mistakes)
    of_option = Notes()
    read_settings(pair(text, of_option))


@given(st.text())
def test_texts_are_written_as_toml(text: str) -> None:
    assert load_toml(f"x = {toml({text: (text,)})}") == {"x": {text: [text]}}


def test_what_is_shown_gives_the_same_settings(here: Path) -> None:
    path = here / "derivlint.toml"
    path.write_text(EVERY_KEY.replace("tool.derivlint.", ""))
    settings = find_settings(here)
    path.write_text("".join(f"{key} = {value}\n" for key, value, _ in described(settings) if value != UNSET))
    assert find_settings(here) == settings
    assert all(origin.startswith("derivlint.toml:") for _, _, origin in described(settings))


def test_what_is_shown_of_no_configuration_are_the_defaults() -> None:
    shown = {key: (value, origin) for key, value, origin in described(Settings())}
    assert set(shown) == set(KEYS)
    assert {origin for _, origin in shown.values()} == {"default"}
    assert shown["preview"] == ("false", "default")
