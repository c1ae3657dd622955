"""Edits of scalars and mappings: what is decoded after them is what was wanted, and nothing else moved."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Document, Mapping, Pair, Scalar, Sequence, read_yaml
from derivlint.yaml_reader.rewrite import removal, rewrite


def read(text: str) -> Document:
    return read_yaml(SourceFile("derivatives.yaml", text))


def value_of(document: Document, key: str = "k") -> Scalar:
    root = document.root
    assert isinstance(root, Sequence)
    mapping = root.items[0]
    assert isinstance(mapping, Mapping)
    value = mapping.get(key)
    assert isinstance(value, Scalar), value
    return value


def edited(text: str, edit: tuple[Span, str] | None) -> str | None:
    if edit is None:
        return None
    (start, end), new = edit
    return text[:start] + new + text[end:]


#: The formula ``f(grad, x)  * "it's"``, or nearly that, in every style.
STYLES = {
    "plain": "- k: f(grad, x)  * y\n  z: 1\n",
    "plain folded": "- k: f(grad,\n    x)   \n\n    * y # what\n  z: 1\n",
    "single": "- k: 'f(grad, x)  * it''s' # what\n  z: 1\n",
    "single folded": "- k: 'f(grad,\n    it''s)\n\n    * y'\n  z: 1\n",
    "double": '- k: "f(grad, \\"x\\\\n\\")  * \\x41"\n  z: 1\n',
    "double folded": '- k: "f(grad, \\\n    \\"x\\")\n\n    * y"\n  z: 1\n',
    "literal": "- k: |\n    f(grad,\n      x)\n\n    * y\n  z: 1\n",
    "literal stripped": "- k: |-\n    f(grad) # no comment\n  z: 1\n",
    "folded": "- k: >\n    f(grad,\n    x)\n\n    * y\n      more\n    less\n  z: 1\n",
    "folded kept": "- k: >+\n    f(grad)\n    y\n\n  z: 1\n",
}
FLOW = "- {k: f(grad), z: 1}\n"


@given(
    style=st.sampled_from(sorted(STYLES)),
    line_end=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
    ends=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    text=st.text(st.sampled_from("ab._([])'\"\\:#,;>- {}&*é😀\n\t\x07\ud800"), max_size=6)
    | st.sampled_from([".conj()", "grads[0]", "->", ' "it\'s" ', ": ", " #", "yes", "1.0", "~", "---"]),
)
@example(style="double", line_end="\n", bom=False, ends=(0, 0), text='"\\')
@example(style="plain", line_end="\n", bom=False, ends=(0, 40), text="1")
@example(style="plain folded", line_end="\r\n", bom=True, ends=(12, 12), text=".conj()")
@example(style="folded kept", line_end="\n", bom=False, ends=(0, 10), text=".conj()")
def test_the_value_after_an_edit_is_the_edited_value(
    style: str, line_end: str, bom: bool, ends: tuple[int, int], text: str
) -> None:
    """For every style, range and text: no edit, or one after which YAML reads exactly what was wanted."""
    written = "\ufeff" * bom + STYLES[style].replace("\n", line_end)
    scalar = value_of(read(written))
    start, end = sorted(min(each, len(scalar.value)) for each in ends)
    wanted = scalar.value[:start] + text + scalar.value[end:]
    after = edited(written, rewrite(scalar, start, end, text))
    if after is None:
        return
    document = read(after)
    assert document.problems == ()
    new = value_of(document)
    assert (new.value, new.kind, new.style) == (wanted, "str", scalar.style)
    assert value_of(document, "z").value == "1"
    # comments and everything else outside of the scalar are where they were
    assert after[: scalar.start] == written[: scalar.start]
    assert after.endswith(written[scalar.end :])


@pytest.mark.parametrize("style", sorted(STYLES))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_name_can_be_written_in_every_style(style: str, line_end: str) -> None:
    """Replacing ``grad`` by ``grads[0]``, and adding a method after it, is possible in every block style."""
    written = STYLES[style].replace("\n", line_end)
    scalar = value_of(read(written))
    start = scalar.value.index("grad")
    assert edited(written, rewrite(scalar, start, start + 4, "grads[0]")) == written.replace("grad", "grads[0]")
    assert edited(written, rewrite(scalar, start + 4, start + 4, ".conj()")) == written.replace("grad", "grad.conj()")


def test_text_behind_a_folded_line_goes_before_its_trailing_blanks() -> None:
    """What is inserted at the end of a line is at its text, not after blanks that folding drops."""
    written = "- k: f(grad)  \n    * y\n"
    assert edited(written, rewrite(value_of(read(written)), 7, 7, ".neg()")) == "- k: f(grad).neg()  \n    * y\n"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("grads[0]", None),
        ("a, b", None),
        ("a ? b : c", None),
        ("grad_x", "- {k: f(grad_x), z: 1}\n"),
    ],
)
def test_flow_mappings_hold_less(text: str, new: str | None) -> None:
    """Inside braces, brackets and commas end a plain scalar."""
    scalar = value_of(read(FLOW))
    assert edited(FLOW, rewrite(scalar, 2, 6, text, in_flow=True)) == new


@pytest.mark.parametrize(
    ("quote", "text", "new"),
    [
        ("'", "it's", "'f(it''s)'"),
        ('"', 'say("\\")', '"f(say(\\"\\\\\\"))"'),
        ('"', "a\tb", '"f(a\\tb)"'.replace("\\t", "\\x09")),
        ("'", "a\nb", None),
        ("", "a: b", None),
        ("", "a #b", None),
    ],
)
def test_new_text_is_escaped(quote: str, text: str, new: str | None) -> None:
    """Quotes and backslashes are written as the style of the scalar wants it."""
    written = f"- k: {quote}f(grad){quote}\n"
    after = edited(written, rewrite(value_of(read(written)), 2, 6, text))
    assert after == (f"- k: {new}\n" if new is not None else None)


@pytest.mark.parametrize("text", ["", "1", "null", "yes", " a", "a ", "*a", "- a", "[a]"])
def test_a_plain_text_stays_a_text(text: str) -> None:
    """A whole plain scalar does not become a number, a list, an alias or nothing."""
    written = "- k: grad\n"
    assert rewrite(value_of(read(written)), 0, 4, text) is None


def removed(text: str, key: str) -> str | None:
    root = read(text).root
    assert isinstance(root, Sequence)
    mapping = root.items[0]
    assert isinstance(mapping, Mapping)
    pair = mapping.find(key)
    assert pair is not None
    span = removal(mapping, Pair(*pair))
    return edited(text, (span, "") if span is not None else None)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("- a: 1\n  b: 2\n  c: 3\n", "- a: 1\n  c: 3\n"),
        ("- a: 1\r\n  b: 2  \r\n  c: 3\r\n", "- a: 1\r\n  c: 3\r\n"),
        ("- a: 1\n  b: x\n    y\n\n# next\n", "- a: 1\n\n# next\n"),
        ("- a: 1\n  b: 2", "- a: 1"),
        ("- a: 1\n\n  b: 2", "- a: 1"),
        # the comment may be about something else
        ("- a: 1\n  b: 2 # why\n", None),
        ("- b: 1\n  a: 2\n", None),
        ("- {a: 1, b: 2}\n", None),
        ("- a: 1\n  ? b\n  : 2\n", None),
        ("- b: 1\n", None),
    ],
)
def test_a_pair_is_removed_with_its_lines(text: str, new: str | None) -> None:
    """Only where lines hold the pair and nothing else; the others are as they were."""
    assert removed(text, "b") == new
