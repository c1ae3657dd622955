"""Templates: what is put where, and which lines a compiler believes to read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.emit.template import TemplateError, fill, indented, quoted

WORDS = st.text("abc;{}$ ", max_size=8)
TEXTS = st.lists(WORDS, max_size=5).map("\n".join)


def test_placeholders_are_replaced() -> None:
    assert fill("struct ${name} : ${base} {};", name="A", base="B") == "struct A : B {};"


def test_a_value_of_several_lines_is_indented_like_its_placeholder() -> None:
    assert fill("f() {\n  ${body}\n}", body="a;\n\nif (b) {\n  c;\n}") == "f() {\n  a;\n\n  if (b) {\n    c;\n  }\n}"


def test_a_value_inside_a_line_is_indented_like_the_line() -> None:
    assert fill("  return ${value};", value="a\n+ b") == "  return a\n  + b;"


def test_preprocessor_directives_stay_at_the_margin() -> None:
    assert fill("  ${value}", value='a\n#line 3 "f"\nb') == '  a\n#line 3 "f"\n  b'


def test_a_line_with_nothing_but_an_empty_value_disappears() -> None:
    assert fill("a\n  ${x}\nb", x="") == "a\nb"
    assert fill("a\n  ${x};\nb", x="") == "a\n  ;\nb"


def test_values_are_not_templates() -> None:
    assert fill("${a} ${b}", a="${b}", b="1") == "${b} 1"


@pytest.mark.parametrize("parts", [{}, {"a": "1"}, {"a": "1", "b": "2", "c": "3"}])
def test_parts_and_placeholders_have_to_be_the_same(parts: dict[str, str]) -> None:
    with pytest.raises(TemplateError):
        fill("${a} ${b}", **parts)


@given(before=WORDS, value=TEXTS, after=WORDS)
def test_filling_keeps_every_character_of_the_value(before: str, value: str, after: str) -> None:
    """At the left margin a value is inserted as it is."""
    text = f"x{before.replace('$', '')}|${{v}}|{after.replace('$', '')}"
    assert fill(text, v=value) == text.replace("${v}", value)


@given(value=TEXTS)
def test_indentation_adds_nothing_but_blanks_in_front_of_lines(value: str) -> None:
    lines = indented(value, "    ").split("\n")
    expected = value.split("\n")
    assert lines[0] == expected[0]
    assert lines[1:] == ["    " + line if line else "" for line in expected[1:]]


def test_string_literals_are_escaped() -> None:
    assert quoted('a\\b"c\n') == '"a\\\\b\\"c\\n"'
