"""All errors in one run: a list item that is not YAML does not hide the others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.source import Span
from derivlint.yaml_reader import Mapping, Sequence
from derivlint.yaml_reader.reader import MAX_BROKEN_ITEMS
from tests.sampling import examples
from tests.yaml_reader.helpers import dump, read, scalars, shown

GOOD = ["- name: a\n  self: grad\n", "- b\n", "-\n", "- |\n  x\n\n", "# c\n- 'é\n  🎉'\n", "- [a,\n  b]\n\n"]
BAD = ["- a: b: c\n", "- 'x\n", "- {a\n", "- *x\n", "- a: @b\n", '- "\\q"\n', "- a\n\tb: c\n", "- a: b\n c\n"]


def test_every_broken_item_is_reported_and_every_other_is_read() -> None:
    text = "# head\n- name: a\n- name: b: c\n- name: d\n  self: 'x\n- name: e\n"
    assert shown(text) == [
        ("syntax", ":", '": " inside an unquoted value starts a mapping'),
        ("syntax", "'", "the single quote that opens here is never closed"),
    ]
    root = read(text).root
    assert isinstance(root, Sequence)
    assert [text[item.start : item.end] for item in root.items] == ["name: a", "name: e"]
    assert root.within == Span(7, len(text) - 1)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(GOOD + BAD), min_size=1, max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_good_items_are_read_as_if_the_broken_ones_were_not_there(items: list[str], end: str) -> None:
    items = [item.replace("\n", end) for item in items]
    bad = {item.replace("\n", end) for item in BAD}
    text = "".join(items)
    document = read(text)
    expected = []
    offset = 0
    for item in items:
        if item not in bad:
            alone = read(item)
            assert isinstance(alone.root, Sequence)
            expected.append([(value, span.shift(offset)) for value, _, _, span, _ in map(dump, scalars(alone.root))])
        offset += len(item)
    assert isinstance(document.root, Sequence)
    found = [[(value, span) for value, _, _, span, _ in map(dump, scalars(item))] for item in document.root.items]
    if len({problem.span for problem in document.problems}) == sum(item in bad for item in items):
        assert found == expected
    else:
        # Two unclosed quotes can make one closed pair, which is what PyYAML reads too.
        assert sum("'x" in item for item in items) > 1
    assert read(text, pure=True).problems == document.problems
    assert dump(read(text, pure=True).root) == dump(document.root)


def test_anchors_reach_over_broken_items() -> None:
    text = "- &a x\n- b: c: d\n- &e [f, @]\n- *a\n"
    document = read(text)
    assert [problem.span for problem in document.problems] == [Span(13, 14), Span(26, 27)]
    assert [scalar.value for scalar in scalars(document.root)] == ["x", "x"]


def test_an_item_without_blank_behind_its_dash() -> None:
    text = "-name: a\n  self: b\n- name: c\n"
    assert shown(text) == [("syntax", "-", 'a list item needs a blank after its "-"')]
    assert [scalar.value for scalar in scalars(read(text).root)] == ["name", "c"]


def test_only_lists_are_recovered() -> None:
    for text in ("a: b: c\nd: e\n", "a:\n- b: c: d\n- e\n", "%TAG ! x:\n---\n- a: b: c\n- d\n"):
        document = read(text)
        assert document.root is None
        assert [problem.kind.value for problem in document.problems] == ["syntax"]


def test_recovery_ends_at_a_second_document() -> None:
    text = "- a: b: c\n- d\n---\n- e\n"
    document = read(text)
    assert [(problem.kind.value, problem.span.start) for problem in document.problems] == [
        ("syntax", 6),
        ("several-documents", 14),
    ]
    assert [scalar.value for scalar in scalars(document.root)] == ["d"]


def test_text_behind_the_document_end_is_reported() -> None:
    text = "- a\n...\nb\n"
    assert shown(text) == [("syntax", "b", "text after the end of the document")]


def test_places_behind_a_byte_order_mark() -> None:
    text = "\ufeff- a: b: c\n- d\n"
    document = read(text)
    assert [problem.span for problem in document.problems] == [Span(7, 8)]
    assert [text[s.start : s.end] for s in scalars(document.root)] == ["d"]


def test_after_many_broken_items_the_rest_is_left() -> None:
    text = "- a\n" + "- b: c: d\n" * (MAX_BROKEN_ITEMS + 50) + "- e\n"
    document = read(text)
    assert len(document.problems) == MAX_BROKEN_ITEMS + 1
    assert [problem.kind.value for problem in document.problems][-2:] == ["syntax", "limit"]
    assert [scalar.value for scalar in scalars(document.root)] == ["a"]


def test_problems_are_in_file_order() -> None:
    text = "- a: !x b\n- c: d: e\n- f: !y g\n- h: @\n"
    spans = [problem.span for problem in read(text).problems]
    assert spans == sorted(spans)
    assert [problem.kind.value for problem in read(text).problems] == ["tag", "syntax", "tag", "syntax"]
    root = read(text).root
    assert isinstance(root, Sequence)
    assert all(isinstance(item, Mapping) for item in root.items)
    assert len(root.items) == 2
