"""The items of a list, each read on its own: they are those of the text that is read as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from derivlint.source import SourceFile
from derivlint.yaml_reader import Mapping, Sequence, YamlNode
from derivlint.yaml_reader import split as splitting
from derivlint.yaml_reader.split import read_split
from tests.sampling import examples
from tests.yaml_reader.helpers import dump, read

ITEMS = [
    "- a: b\n", "- a: b\n\n", "- a: c\n  d: [e, f]\n", "# why\n", '- a: "b\n    c"\n', "- a\n", "-\n", "- - a\n",
    "- [\n", '- a: "b\n',
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=8).map("".join)
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
]


FRAGMENTS = st.sampled_from(
    [
        *(
            "- ", "- a: ", "  b: ", "    c: ", "  - ", "d", "e f", "1", "-", ":", ": ", " #", "# g\n", "'", '"', "[",
            "]",
        ),
        *(
            "{}", "{", "}", ", ", "&h ", "*h", "!i ", "|\n", "|2\n", ">-\n", "\n", "\n\n", "\n  ", "\n    ", "\n- ",
            "\t",
        ),
        *("\r\n", "\r", "é", "\x85", "? ", "~", "%", "...", "---\n", "\\", "<<", "=", "- a: b\n", "  c: d\n", "  e:\n"),
        *("    f: g\n", "  h: |\n      i\n", '  j: "k\n    l"\n', "  m:\n  - n\n", "  o: [p, 'q']\n", "\ufeff", " "),
    ]
)  # fmt: skip
SNIPPETS = st.sampled_from(["", "x", "\n", "- ", "\n- a: z\n", '"', "---\n", "  b: c\n", "-", " ", "\r"])


def check(text: str) -> None:
    """Compare the items of a text, where it is split, with the text as it is read as a whole."""
    split = read_split(SourceFile("test.yaml", text))
    if split is None:
        return
    whole = read(text)
    assert isinstance(whole.root, Sequence)
    assert bool(split.problems) == bool(whole.problems)
    assert [dump(item.node, item.start) for item in split.items] == [dump(item) for item in whole.root.items]
    assert split.texts == [split.source.slice(span) for span in split.spans]
    lazily = read_split(SourceFile("test.yaml", text), set(split.texts).__contains__)
    assert lazily is not None
    assert [dump(item.node, item.start) for item in lazily.items] == [dump(item) for item in whole.root.items]


@given(TEXTS, st.integers(0, 60), st.integers(0, 12), SNIPPETS)
@example("- a: b\n- a: c\n", 12, 0, '"')
@example("- a: b\n- a: c\n", 5, 0, '"')
@example("- a: b\n- a: c\n- a\n", 7, 7, "")
@example("- a: b\n", 7, 0, "-")
def test_items_are_those_of_the_text_as_a_whole(text: str, start: int, length: int, new: str) -> None:
    text = text[:start] + new + text[start + length :]
    check(text)


def test_a_text_in_which_quotes_hide_an_item_is_not_split() -> None:
    assert read_split(SourceFile("test.yaml", '- a: "b\n- c"\n')) is None


@pytest.mark.parametrize("text", [*PLAIN, *ODD])
def test_an_item_between_others_is_what_it_is_on_its_own(text: str) -> None:
    check(f"- x: y\n{text}\n- y: z\n")


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(FRAGMENTS, max_size=24).map("".join))
def test_items_of_any_text_are_those_of_the_text_as_a_whole(text: str) -> None:
    check(f"- a: b\n{text}")


@settings(deadline=None, max_examples=examples(150))
@given(data=st.data())
def test_items_of_a_changed_part_of_the_real_file_are_those_of_the_whole(
    derivatives_path: Path, data: st.DataObject
) -> None:
    split = read_split(SourceFile.read(derivatives_path))
    assert split is not None
    first = data.draw(st.integers(0, split.count - 1))
    part = "".join(split.texts[first : first + data.draw(st.integers(1, 5))])
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(part)))
        end = min(start + data.draw(st.integers(0, 3)), len(part))
        part = part[:start] + data.draw(FRAGMENTS) + part[end:]
    check(part)


@pytest.mark.parametrize(
    "item",
    ["- a: b\n", "- {a, b}\n", "-\n", "- {}\n", "- [[], {}]\n", "- ? a\n", "- a:\n    b:\n      c:\n", "- [a: b, c]\n"],
)
def test_a_text_with_too_many_nodes_is_not_split(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "MAX_NODES", 40)
    for count in range(1, 60):
        text = item * count
        if read_split(SourceFile("test.yaml", text)) is not None:
            assert _nodes(read(text).root) <= 40


def _nodes(node: YamlNode | None) -> int:
    if isinstance(node, Sequence):
        return 1 + sum(map(_nodes, node.items))
    if isinstance(node, Mapping):
        return 1 + sum(_nodes(pair.key) + _nodes(pair.value) for pair in node.pairs)
    return 1
