"""Templates: what is put where, and which lines a compiler believes to read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.emit.template import TemplateError, fill, in_yaml, indented, listing, number_lines, quoted

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


def believed_lines(text: str, file: str) -> list[tuple[str, int, str]]:
    """Each line that is not a directive with the file and the number that a C preprocessor gives it."""
    name, number, found = file, 1, []
    for line in text.split("\n"):
        if line.startswith("#line "):
            _, digits, literal = line.split(" ", 2)
            name, number = literal.strip('"'), int(digits)
            continue
        found.append((name, number, line))
        number += 1
    return found


def test_a_formula_is_in_the_yaml_and_what_follows_in_the_generated_file() -> None:
    text = "int a;\nauto b = (" + in_yaml("grad * self", "derivatives.yaml", 47) + ");\nint c;"
    assert number_lines(text, "nodes_0.cpp").split("\n") == [
        "int a;",
        "auto b = (",
        '#line 47 "derivatives.yaml"',
        "grad * self",
        '#line 6 "nodes_0.cpp"',
        ");",
        "int c;",
    ]


@given(parts=st.lists(st.tuples(st.booleans(), TEXTS.map(lambda text: text.replace("#", ""))), max_size=8))
def test_every_generated_line_keeps_its_own_number(parts: list[tuple[bool, str]]) -> None:
    """However formulas and other text follow each other, lines outside formulas are believed to be what they are."""
    text = "".join("x" + in_yaml(part, "y.yaml", 9) if formula else part for formula, part in parts)
    numbered = number_lines(text, "g.cpp")
    real = [(index, line) for index, line in enumerate(numbered.split("\n"), start=1) if not line.startswith("#line ")]
    for (number, line), (name, believed, same) in zip(real, believed_lines(numbered, "g.cpp"), strict=True):
        assert line == same
        if name == "g.cpp":
            assert believed == number


def test_a_listing_has_expressions_where_they_belong() -> None:
    """The lines around a formula are for compilers; people read it as if it had been written in place."""
    text = fill(
        "f() {\n  a = b ? (${one}) : c;\n  x =${two};\n}",
        one=in_yaml("grad *\nself", 'my "file".yaml', 3),
        two=in_yaml("self.sizes()", "file.yaml", 4),
    )
    assert listing(text) == "f() {\n  a = b ? (grad *\n  self) : c;\n  x = self.sizes();\n}"
