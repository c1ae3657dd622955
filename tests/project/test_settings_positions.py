"""Where keys and values are in TOML: the scanner agrees with the parser on everything that there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.project.settings.document import load_toml
from derivlint.project.settings.positions import KeyPlace, Way, places
from derivlint.source import Span


def found(text: str) -> dict[Way, tuple[str | None, str]]:
    """The text of every key and value."""

    def slice(span: Span) -> str:
        return text[span.start : span.end]

    return {
        way: (slice(place.key) if place.key is not None else None, slice(place.value))
        for way, place in places(text, load_toml).items()
    }


def test_every_form_of_toml_has_its_places() -> None:
    text = '''\
# "no" = 1
a.b = 1 # x
"q\\u0041".'x' = """a\\"""" # c
quotes = """"a"""""
literal = \'\'\'\'b\'\'\'\'
[t . "u"]
d = 1979-05-27 07:32:00
list = [ 1, # ]
  [2, '#]'], {x.y = 1, z=[]} ]
[[l.m]]
k=\'\'
[l.m.sub]
j=true
[[l.m]]
'''
    assert found(text) == {
        ("a",): ("a", "a.b"),
        ("a", "b"): ("b", "1"),
        ("qA",): ('"q\\u0041"', "\"q\\u0041\".'x'"),
        ("qA", "x"): ("'x'", '"""a\\""""'),
        ("quotes",): ("quotes", '""""a"""""'),
        ("literal",): ("literal", "''''b''''"),
        ("t",): ("t", 't . "u"'),
        ("t", "u"): ('"u"', 't . "u"'),
        ("t", "u", "d"): ("d", "1979-05-27 07:32:00"),
        ("t", "u", "list"): ("list", "[ 1, # ]\n  [2, '#]'], {x.y = 1, z=[]} ]"),
        ("t", "u", "list", 0): (None, "1"),
        ("t", "u", "list", 1): (None, "[2, '#]']"),
        ("t", "u", "list", 1, 0): (None, "2"),
        ("t", "u", "list", 1, 1): (None, "'#]'"),
        ("t", "u", "list", 2): (None, "{x.y = 1, z=[]}"),
        ("t", "u", "list", 2, "x"): ("x", "x.y"),
        ("t", "u", "list", 2, "x", "y"): ("y", "1"),
        ("t", "u", "list", 2, "z"): ("z", "[]"),
        ("l",): ("l", "l.m"),
        ("l", "m"): ("m", "l.m"),
        ("l", "m", 0): (None, "l.m"),
        ("l", "m", 0, "k"): ("k", "''"),
        ("l", "m", 0, "sub"): ("sub", "l.m.sub"),
        ("l", "m", 0, "sub", "j"): ("j", "true"),
        ("l", "m", 1): (None, "l.m"),
    }


def test_the_first_mention_of_a_table_is_its_place() -> None:
    assert places("[a.b]\n[a]\nc = 1\n", load_toml)[("a",)] == KeyPlace(Span(1, 2), Span(1, 4))


blanks = st.text(" \t", max_size=2)
comments = st.one_of(st.just(""), st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=5).map("#{}".format))
gaps = st.lists(st.tuples(blanks, comments).map("".join), max_size=2).map("\n".join).map(lambda text: f"{text}\n")
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def basic(text: str) -> str:
    """A string with the escapes of TOML."""
    return json.dumps(text).replace("\x7f", "\\u007f")


@st.composite
def astral_safe(draw: st.DrawFn) -> str:
    # JSON writes astral characters as two escapes, which TOML does not take
    return "".join(char for char in draw(words) if ord(char) < 0x10000)


keys = st.one_of(
    st.text("abcXYZ019-_", min_size=1, max_size=5),
    astral_safe().map(basic),
    st.text("ab .#[]=é", max_size=4).map("'{}'".format),
)
dotted = st.lists(st.tuples(blanks, keys, blanks).map("".join), min_size=1, max_size=3).map(".".join)
scalars = st.sampled_from(
    [
        "1", "-2.5", "true", "1979-05-27 07:32:00", "1979-05-27T07:32:00Z", "inf", "0xff", "'a#]'", '""', "''",
        "'''x\n'y'''",
    ]
) | st.one_of(
    astral_safe().map(basic), st.text('ab\n"#]}', max_size=6).map(lambda text: '"""' + text.replace('"', '\\"') + '"""')
)  # fmt: skip


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.lists(st.tuples(gaps, values, gaps).map("".join), max_size=3)
    return st.tuples(items, st.booleans(), gaps).map(
        lambda parts: f"[{','.join(parts[0])}{',' if parts[0] and parts[1] else ''}{parts[2]}]"
    )


def tables(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(blanks, dotted, st.just("="), blanks, values, blanks).map("".join), max_size=3)
    return pairs.map(lambda parts: f"{{{','.join(parts)}}}")


values = st.recursive(scalars, lambda inner: arrays(inner) | tables(inner), max_leaves=6)
headers = st.one_of(dotted.map("[{}]".format), dotted.map("[[{}]]".format))
pairs = st.tuples(blanks, dotted, st.just("="), blanks, values).map("".join)
lines = st.tuples(st.one_of(headers, pairs, pairs, blanks), blanks, comments).map("".join)
documents = st.lists(lines, max_size=8).map("\n".join)


def ways(data: object, way: Way = ()) -> Iterator[tuple[Way, object]]:
    """Every way to a value in what the parser made."""
    children: list[tuple[str | int, object]] = []
    if isinstance(data, dict):
        children = list(data.items())
    elif isinstance(data, list):
        children = list(enumerate(data))
    for key, value in children:
        yield (*way, key), value
        yield from ways(value, (*way, key))


def parsed(text: str) -> dict[str, Any] | None:
    try:
        return load_toml(text)
    except ValueError:
        return None


@given(documents, st.booleans())
def test_the_scanner_finds_what_the_parser_finds(text: str, windows: bool) -> None:
    if windows:
        text = text.replace("\n", "\r\n")
    data = parsed(text)
    if data is None:
        # two values for one key, and the like; the scanner may find anything, but does return
        return
    expected = dict(ways(data))
    places_found = places(text, load_toml)
    assert set(places_found) == set(expected)
    for way, place in places_found.items():
        assert (place.key is None) == isinstance(way[-1], int)
        if place.key is not None:
            assert list(load_toml(f"{text[place.key.start : place.key.end]} = 1")) == [way[-1]]
        value = expected[way]
        if not isinstance(value, dict) and not (isinstance(value, list) and text[place.value.start] != "["):
            assert load_toml(f"x = {text[place.value.start : place.value.end]}")["x"] == value


@given(st.text("ab=.[]{},#'\"\\\n \u00e9", max_size=20))
def test_the_scanner_is_right_on_any_short_text(text: str) -> None:
    data = parsed(text)
    if data is not None:
        assert set(places(text, load_toml)) == {way for way, _ in ways(data)}


@pytest.mark.parametrize("depth", [50, 150])
def test_nested_values_are_found(depth: int) -> None:
    text = f"a = {'[' * depth}{']' * depth}"
    assert len(places(text, load_toml)) == depth
