"""Places of nodes."""

from __future__ import annotations

import pytest

from derivlint.source import Span
from derivlint.yaml_reader import Mapping, Pair, Scalar, Sequence
from tests.yaml_reader.helpers import pieces, read, read_clean, scalars, span_of, value_of


@pytest.mark.parametrize(
    ("text", "source", "style", "value"),
    [
        ("a: grad * b\n", "grad * b", "plain", "grad * b"),
        ("a: grad   # why\n", "grad", "plain", "grad"),
        ("a: 'x''y'\n", "'x''y'", "single", "x'y"),
        ('a: "x\\"y" # z\n', '"x\\"y"', "double", 'x"y'),
        ("a: x\n  y\n\n", "x\n  y", "plain", "x y"),
        ("a: |\n  x\n   y\n\n\nb: c\nd: |\n  x\n", "|\n  x", "literal", "x\n"),
        ("a: |\n  x\n   y\n\n\n", "|\n  x\n   y", "literal", "x\n y\n"),
        ("a: >-\n  x\n  y  \n", ">-\n  x\n  y  ", "folded", "x y  "),
        ("a: |+\n  x\n\n", "|+\n  x", "literal", "x\n\n"),
        ("a: &n !!str 12\n", "12", "plain", "12"),
        ("a: !!str &n\n  '12'\n", "'12'", "single", "12"),
        ("a: !!str # why\n  12\n", "12", "plain", "12"),
        ("é: 🎉 x\n", "🎉 x", "plain", "🎉 x"),
        ("\ufeffa: b\n", "b", "plain", "b"),
        ("x: y\r\na: b c\r\n", "b c", "plain", "b c"),
        ("x: y\ra: b c\r", "b c", "plain", "b c"),
        ("x: y\x85a: b c\u2028", "b c", "plain", "b c"),
        ("a:\tb\t# c\n", "b", "plain", "b"),
        ("a: b\tc\n", "b\tc", "plain", "b\tc"),
    ],
)
def test_scalar_has_the_place_and_value_of_its_text(text: str, source: str, style: str, value: str) -> None:
    scalar = value_of(text)
    assert (text[scalar.start : scalar.end], scalar.style, scalar.value) == (source, style, value)


@pytest.mark.parametrize("text", ["a:\n", "a: # why\n", "a:\nb: c\n", "- a:\n- b\n"])
def test_missing_value_is_an_empty_null_behind_the_colon(text: str) -> None:
    root = read_clean(text)
    mapping = root.items[0] if isinstance(root, Sequence) else root
    assert isinstance(mapping, Mapping)
    value = mapping.pairs[0].value
    assert isinstance(value, Scalar)
    place = text.index(":") + 1
    assert (value.value, value.kind, value.within) == ("", "null", Span(place, place))


def test_mapping_runs_from_its_first_key_to_its_last_value() -> None:
    text = "- name: abs\n  self: grad\n\n# comment\n- name: b\n  dispatch:\n    Default:\n      self: x\n\n"
    root = read_clean(text)
    assert isinstance(root, Sequence)
    assert root.within == Span(0, text.index("x") + 1)
    assert [text[item.start : item.end] for item in root.items] == [
        "name: abs\n  self: grad",
        "name: b\n  dispatch:\n    Default:\n      self: x",
    ]
    assert isinstance(root.items[1], Mapping)
    assert root.items[1].pairs[1].value.within == span_of(text, "Default:\n      self: x")


def test_flow_collections_include_their_brackets() -> None:
    text = "a: [x, {y: z }, []]  # c\n"
    root = read_clean(text)
    assert isinstance(root, Mapping)
    value = root.pairs[0].value
    assert isinstance(value, Sequence)
    assert (value.flow, value.within) == (True, span_of(text, "[x, {y: z }, []]"))
    inner = value.items[1]
    assert isinstance(inner, Mapping)
    assert (inner.flow, inner.within) == (True, span_of(text, "{y: z }"))


def test_properties_of_collections_are_outside_their_range() -> None:
    text = "a: &x !!map # c\n  b: c\nd: &y [e]\nf: &z\n  - g\n"
    root = read_clean(text)
    assert isinstance(root, Mapping)
    assert [text[pair.value.start : pair.value.end] for pair in root.pairs] == ["b: c", "[e]", "- g"]


def test_duplicate_keys_are_kept_and_get_finds_the_last() -> None:
    root = read_clean("self: a\nother: b\nself: c\n1: d\n'1': e\n<<: {f: g}\n")
    assert isinstance(root, Mapping)
    assert [key.value for key, _ in root.scalars()] == ["self", "other", "self", "1", "1", "<<"]
    assert root.get("self") is root.pairs[2].value
    assert root.get("1") is root.pairs[4].value
    assert root.find("other") == root.pairs[1]
    assert root.get("missing") is None
    # A merge key is not a string.
    assert root.get("<<") is None


def test_alias_shares_the_node_of_its_anchor() -> None:
    text = "- &a [x]\n- b: *a\n"
    root = read_clean(text)
    assert isinstance(root, Sequence)
    assert isinstance(root.items[1], Mapping)
    pair = root.items[1].pairs[0]
    assert pair.value is root.items[0]
    assert pair.value.within == span_of(text, "[x]")
    assert root.items[1].within == span_of(text, "b: *a")
    assert pair.within == span_of(text, "b")


def test_pair_runs_from_key_to_value() -> None:
    text = "a:\n  'b'\nc:\n"
    root = read_clean(text)
    assert isinstance(root, Mapping)
    assert [pair.within for pair in root.pairs] == [span_of(text, "a:\n  'b'"), span_of(text, "c:")]
    assert isinstance(root.pairs[0], Pair)


def test_an_anchor_may_be_defined_again() -> None:
    root = read_clean("- &a x\n- &a y\n- *a\n")
    assert [scalar.value for scalar in scalars(root)] == ["x", "y", "y"]


@pytest.mark.parametrize("text", ["", "# only a comment\n", "\n\n", "\ufeff", "\ufeff# c"])
def test_a_file_without_nodes_has_no_root(text: str) -> None:
    for pure in (False, True):
        document = read(text, pure=pure)
        assert (document.root, document.problems) == (None, ())


def test_document_markers_and_directives_are_fine() -> None:
    for text in ("---\na: b\n", "%YAML 1.1\n---\na: b\n...\n", "%YAML 1.2\n---\na: b\n", "--- # c\na: b\n"):
        scalar = value_of(text)
        assert (scalar.value, scalar.within) == ("b", span_of(text, " b\n").shift(1)._replace(end=text.index(" b") + 2))


def test_span_of_selects_decoded_text() -> None:
    text = 'a: "grad *\n     other"\n'
    scalar = value_of(text)
    assert scalar.value == "grad * other"
    first = scalar.range_of(0, 4)
    assert text[first.start : first.end] == "grad"
    second = scalar.range_of(7, 12)
    assert text[second.start : second.end] == "other"
    across = scalar.range_of(5, 12)
    assert text[across.start : across.end] == "*\n     other"
    star = scalar.range_of(5, 6)
    assert text[star.start : star.end] == "*"
    assert scalar.offset(12) == text.index('"\n')
    assert scalar.range_of(3, 3) == Span(scalar.offset(3), scalar.offset(3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a: "x\\n\\u00e9\\ty"\n', [("x", "x"), ("\n", "\\n"), ("é", "\\u00e9"), ("\t", "\\t"), ("y", "y")]),
        ("a: 'it''s'\n", [("i", "i"), ("t", "t"), ("'", "''"), ("s", "s")]),
        ('a: "x  \n  y"\n', [("x", "x"), (" ", "\n  "), ("y", "y")]),
        ('a: "x\r\n  y"\r\n', [("x", "x"), (" ", "\r\n  "), ("y", "y")]),
        ("a: x\n\n\n  y\n", [("x", "x"), ("\n", "\n"), ("\n", "\n"), ("y", "y")]),
        ('a: "x\\\n  y"\n', [("x", "x"), ("y", "y")]),
        ('a: "x \\\n  \\ y"\n', [("x", "x"), (" ", " "), (" ", "\\ "), ("y", "y")]),
        ("a: |\n    x\n     y\n", [("x", "x"), ("\n", "\n"), (" ", " "), ("y", "y"), ("\n", "\n")]),
        ("a: |2-\n    x\n   y\n", [(" ", " ")] * 2 + [("x", "x"), ("\n", "\n"), (" ", " "), ("y", "y")]),
        ("a: >\n  x\n  y\n\n  z\n", [("x", "x"), (" ", "\n  "), ("y", "y"), ("\n", "\n"), ("z", "z"), ("\n", "\n")]),
        ("a: >\n  x\n   y\n  z", [("x", "x"), ("\n", "\n"), (" ", " "), ("y", "y"), ("\n", "\n"), ("z", "z")]),
        ("a: |+\n  x\n\n\nb: |+\n  x\n\n\n", [("x", "x"), ("\n", "\n"), ("\n", "\n"), ("\n", "\n")]),
        ("a: |\n\n  x\n", [("\n", "\n"), ("x", "x"), ("\n", "\n")]),
        ("a: 'x\u2028  y'\n", [("x", "x"), ("\u2028", "\u2028"), ("y", "y")]),
        ('a: "x\x85 y"\n', [("x", "x"), (" ", "\x85 "), ("y", "y")]),
        ('a: "\\U0001F389!"\n', [("🎉", "\\U0001F389"), ("!", "!")]),
    ],
)
def test_each_decoded_character_knows_its_source(text: str, expected: list[tuple[str, str]]) -> None:
    assert pieces(text, value_of(text)) == expected


@pytest.mark.parametrize("text", ["a: ''\n", 'a: ""\n', "a: |\n\nb: ''\n", "a:\n"])
def test_an_empty_scalar_has_a_place_for_its_end(text: str) -> None:
    scalar = value_of(text)
    assert scalar.exact
    assert scalar.offset(0) == scalar.start + (0 if scalar.style == "plain" else 1)
    assert scalar.range_of(0, 0) == Span(scalar.offset(0), scalar.offset(0))
