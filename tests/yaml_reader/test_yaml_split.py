"""The items of a list, each read on its own: they are those of the text that is read as a whole."""

from __future__ import annotations

from hypothesis import assume, example, given
from hypothesis import strategies as st

from derivlint.source import SourceFile
from derivlint.yaml_reader import Sequence
from derivlint.yaml_reader.split import read_split
from tests.yaml_reader.helpers import dump, read

ITEMS = [
    "- a: b\n",
    "- a: b\n\n",
    "- a: c\n  d: [e, f]\n",
    "# why\n",
    '- a: "b\n    c"\n',
    "- a\n",
    "-\n",
    "- - a\n",
    "- [\n",
    '- a: "b\n',
]
TEXTS = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=8).map("".join)
SNIPPETS = st.sampled_from(["", "x", "\n", "- ", "\n- a: z\n", '"', "---\n", "  b: c\n", "-", " ", "\r"])


@given(TEXTS, st.integers(0, 60), st.integers(0, 12), SNIPPETS)
@example("- a: b\n- a: c\n", 12, 0, '"')
@example("- a: b\n- a: c\n", 5, 0, '"')
@example("- a: b\n- a: c\n- a\n", 7, 7, "")
@example("- a: b\n", 7, 0, "-")
def test_items_are_those_of_the_text_as_a_whole(text: str, start: int, length: int, new: str) -> None:
    text = text[:start] + new + text[start + length :]
    split = read_split(SourceFile("test.yaml", text))
    assume(split is not None)
    assert split is not None
    whole = read(text)
    assert isinstance(whole.root, Sequence)
    assert bool(split.problems) == bool(whole.problems)
    assert [dump(item.node, item.start) for item in split.items] == [dump(item) for item in whole.root.items]
    assert split.texts == [split.source.slice(span) for span in split.spans]
    lazily = read_split(SourceFile("test.yaml", text), set(split.texts).__contains__)
    assert lazily is not None
    assert [dump(item.node, item.start) for item in lazily.items] == [dump(item) for item in whole.root.items]


def test_a_text_in_which_quotes_hide_an_item_is_not_split() -> None:
    assert read_split(SourceFile("test.yaml", '- a: "b\n- c"\n')) is None
