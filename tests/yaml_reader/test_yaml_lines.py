"""What is read line by line, without a parser, is what the parser reads."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Document, Sequence
from derivlint.yaml_reader.lines import MAX_DEPTH, LineReader
from tests.yaml_reader.helpers import dump, read


def read_by_parser(text: str) -> Document:
    """The text as it is read where no line is plain enough."""
    with patch.object(LineReader, "read", return_value=None):
        return read(text)


def check(text: str) -> None:
    found, expected = read(text), read_by_parser(text)
    assert dump(found.root) == dump(expected.root)
    assert found.problems == expected.problems


def left_to_the_parser(text: str) -> list[str] | None:
    """The parts of a text that are not plain; None where the text has to be read as a whole."""
    parts = LineReader(text, 0).read()
    return None if parts is None else [text[slice(*part)] for part in parts if isinstance(part, Span)]


PLAIN = [
    "- a: b\n",
    "# c\n\n- a: b  # c\n  d, e.f: g h\n\n  # c\n- i: j",
    "- a: -b\n  c: 2 * d\n  e: f::g ? h(i) :j\n  k: (l)\n  m: null\n  n: on\n",
    "- a: 'b: c'\n  d: \"e # f\"  # g\n  h: ''\n",
    '- a: "b\n    + c  \n    "\n  d: "e\n   f"  # g\n',
    "- a: [b, c]  # d\n  e: ['f', \"g, h\", i.j]\n  k: {}\n",
    "- a:\n    b: c\n    d:  # e\n      f: g\n  h: i\n- j:\n     k: l\n",
    "- a:\n  - b -> c, d\n  # e\n  - f\n  g:\n    - h  # i\n",
    "- a: |\n    b\n      c: d\n\n  e: f\n- g: |\n   h\n# i\n- j: |\n    k\n",
    '- a: b\r\n  c: |\r\n    d\r\n    e\r\n  f: "g\r\n    h"\r\n',
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_plain_needs_no_parser(text: str) -> None:
    assert left_to_the_parser(text) == []
    check(text)


ODD = [
    "- a: 1\n",
    "- a: 2020-01-01\n",
    "- a: b: c\n",
    "- a: b\n    c\n",
    "- a: b\n    c: d\n",
    "- a: b\n   c: d\n",
    "- a: b\n c: d\n",
    "- a:\n",
    "- a:\n  b: c\n",
    "- a: é\n",
    "- a:\tb\n",
    "- a: &b c\n",
    "- a: *b\n",
    "- a: !b c\n",
    "- a: 'b''c'\n",
    '- a: "b\\n"\n',
    '- a: "b\n\n    c"\n',
    '- a: "b\nc"\n',
    '- a: "b\n',
    "- a: [b::c]\n",
    "- a: [b,]\n",
    "- a: {b: c}\n",
    "- a: |\n    b\n\n    # c\n  d: e\n",
    "- a: |\n    b\n    # c\n    é\n  d: e\n",
    "- a: |\n  b\n",
    "- a: |-\n    b\n",
    "- a: >\n    b\n",
    "- a: |\n    b",
    "- a:\n - b\n",
    "- a:\n  - b: c\n",
    "- a:\n  - 1\n",
    "- a: b\n- c\n",
    "- a: b\n-\n",
    "- a: b\nc\n",
    "- a: b\nc: d\n",
    "- a: b #c\n  ? d\n",
    "- << : a\n",
    f"- {'a' * 202}: b\n",
    "- a:\n" + "".join(f"{'  ' * depth}  a:\n" for depth in range(1, MAX_DEPTH + 2)) + "  " * 20 + "a: b\n",
]


@pytest.mark.parametrize("text", ODD)
def test_an_item_with_anything_else_is_left_to_the_parser(text: str) -> None:
    assert left_to_the_parser(text) == [text]
    check(text)
    check(f"- x: y\n{text}\n- y: z\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# a\n",
        "a: b\n",
        "---\n- a: b\n",
        "- a: b\n---\n- c: d\n",
        "- a: b\n...\n",
        "- a: b\r- c: d\n",
        "- a: b\u2028\n",
    ],
)
def test_a_text_that_cannot_be_split_is_read_as_a_whole(text: str) -> None:
    assert left_to_the_parser(text) is None
    check(text)


def test_neighbours_are_left_to_one_parser() -> None:
    text = "- a: 1\n\n# b\n- c: 2\n- d: e\n- f: 3\n"
    assert left_to_the_parser(text) == ["- a: 1\n\n# b\n- c: 2\n", "- f: 3\n"]
    check(text)


def test_an_anchor_joins_items_so_that_all_are_read_by_the_parser() -> None:
    text = "- a: &x b\n- c: d\n- e: *x\n"
    check(text)
    root = read(text).root
    assert dump(root)[-1][2][-1][0][1] == dump(root)[-1][0][-1][0][1]


def test_a_byte_order_mark_shifts_what_follows() -> None:
    text = "\ufeff- a: b\n  c: 'd'\n"
    check(text)
    root = read(text).root
    assert root is not None
    assert root.within == Span(1, 16)


@pytest.mark.parametrize(
    "name", ["autograd/derivatives.yaml", "ATen/native/native_functions.yaml", "ATen/native/tags.yaml"]
)
def test_the_real_files_are_plain_throughout(name: str, derivatives_path: Path) -> None:
    text = SourceFile.read(derivatives_path.parents[1] / name).text
    assert left_to_the_parser(text) == []
    check(text)


FRAGMENTS = st.sampled_from(
    [
        *(
            "- ",
            "- a: ",
            "  b: ",
            "    c: ",
            "  - ",
            "d",
            "e f",
            "1",
            "-",
            ":",
            ": ",
            " #",
            "# g\n",
            "'",
            '"',
            "[",
            "]",
        ),
        *(
            "{}",
            "{",
            "}",
            ", ",
            "&h ",
            "*h",
            "!i ",
            "|\n",
            "|2\n",
            ">-\n",
            "\n",
            "\n\n",
            "\n  ",
            "\n    ",
            "\n- ",
            "\t",
        ),
        *("\r\n", "\r", "é", "\x85", "? ", "~", "%", "...", "---\n", "\\", "<<", "=", "- a: b\n", "  c: d\n", "  e:\n"),
        *("    f: g\n", "  h: |\n      i\n", '  j: "k\n    l"\n', "  m:\n  - n\n", "  o: [p, 'q']\n", "\ufeff", " "),
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(FRAGMENTS, max_size=24).map("".join))
def test_whatever_is_read_by_line_is_what_the_parser_reads(text: str) -> None:
    check(text)


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_a_changed_part_of_the_real_file_is_read_as_the_parser_reads_it(
    derivatives_path: Path, data: st.DataObject
) -> None:
    text = derivatives_path.read_text()
    document = read(text)
    assert isinstance(document.root, Sequence)
    items = document.root.items
    first = data.draw(st.integers(0, len(items) - 1))
    last = min(first + data.draw(st.integers(0, 4)), len(items) - 1)
    part = "- " + text[items[first].start : items[last].end] + "\n"
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(part)))
        end = min(start + data.draw(st.integers(0, 3)), len(part))
        part = part[:start] + data.draw(FRAGMENTS) + part[end:]
    check(part)
