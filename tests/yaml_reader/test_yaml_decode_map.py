"""The decode map on generated scalars, against PyYAML's emitter and loader."""

from __future__ import annotations

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from derivlint.source import Span
from derivlint.yaml_reader import Mapping, Scalar, Sequence
from tests.sampling import examples
from tests.yaml_reader.helpers import read

TEXTS = st.text(st.sampled_from(list("abgrad() '\"\\:#-,*&!%@[]{}|>?_0123\n\t é🎉\x85\u2028\x07\xa0")), max_size=60)
ENDS = "\r\n\x85\u2028\u2029"


def emitted(text: str, style: str | None, width: int, unicode: bool, end: str) -> str:
    """A list of one mapping with ``text`` as its value, written by PyYAML."""
    dumped = yaml.dump([{"a": text}], default_style=style, width=width, allow_unicode=unicode)
    assert isinstance(dumped, str)
    return dumped.replace("\n", end)


def check_map(source: str, scalar: Scalar) -> None:
    """The property of decode maps: every character is where its source is."""
    assert scalar.exact
    place = scalar.start
    for index, char in enumerate(scalar.value):
        span = scalar.range_of(index, index + 1)
        assert span.start == scalar.offset(index)
        assert place <= span.start < span.end
        place = span.end
        written = source[span.start : span.end]
        if scalar.style == "double" and written[0] == "\\":
            assert yaml.safe_load(f'"{written}"') == char
        elif written[0] in ENDS and written != char:
            assert char in " \n"
            assert written.strip(" \t") in ("\r", "\n", "\r\n", "\x85")
        elif written == "''":
            assert char == "'"
        else:
            assert written == char
    assert scalar.offset(len(scalar.value)) >= place


@settings(max_examples=examples(300), deadline=None)
@given(
    text=TEXTS,
    style=st.sampled_from([None, "'", '"', "|", ">"]),
    width=st.sampled_from([5, 20, 1000]),
    unicode=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
@example(text="a b c d e f", style='"', width=5, unicode=True, end="\r\n")
@example(text="  a\n b\n\nc\n\n", style=">", width=5, unicode=True, end="\n")
@example(text="\n\n a", style="|", width=80, unicode=True, end="\n")
def test_value_equals_that_of_pyyaml_and_every_character_has_its_place(
    text: str, style: str | None, width: int, unicode: bool, end: str
) -> None:
    source = emitted(text, style, width, unicode, end)
    for pure in (False, True):
        document = read(source, pure=pure)
        assert [problem.kind.value for problem in document.problems if problem.kind.value != "tag"] == []
        assert isinstance(document.root, Sequence)
        mapping = document.root.items[0]
        assert isinstance(mapping, Mapping)
        value = mapping.pairs[0].value
        assert isinstance(value, Scalar)
        loaded = yaml.safe_load(source)[0]["a"]
        assert value.value == loaded
        check_map(source, value)


LINES = st.lists(st.sampled_from(["a", "b c", " d", "\te", "", "", "f ", "é", "  🎉"]), min_size=1, max_size=6)


@settings(max_examples=examples(300), deadline=None)
@given(
    lines=LINES,
    header=st.sampled_from(["|", "|-", "|+", ">", ">-", ">+", "|2", ">2-", "|+1"]),
    indent=st.integers(2, 4),
    end=st.sampled_from(["\n", "\r\n", "\x85"]),
    last=st.booleans(),
)
def test_block_scalars_are_mapped_under_every_header(
    lines: list[str], header: str, indent: int, end: str, last: bool
) -> None:
    body = end.join((" " * indent + line) if line else "" for line in lines)
    source = f"a: {header} # c{end}{body}" + (end if last else "") + ("" if last else end + "b: c")
    try:
        loaded = yaml.compose(source, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return
    document = read(source)
    assert document.problems == ()
    assert isinstance(document.root, Mapping)
    value = document.root.pairs[0].value
    assert isinstance(value, Scalar)
    assert loaded is not None
    assert value.value == loaded.value[0][1].value
    check_map(source, value)


FLOWS = st.text(st.sampled_from(list("ab'\"\\ \t\n\n\r\x85\u2028enx41u")), max_size=25)


@settings(max_examples=examples(500), deadline=None)
@given(FLOWS, st.sampled_from(["'", '"', ""]))
def test_flow_scalars_written_by_hand_are_mapped(inner: str, quote: str) -> None:
    source = f"a: {quote}{inner}{quote}\n"
    document = read(source)
    if document.problems or document.root is None:
        return
    assert isinstance(document.root, Mapping)
    value = document.root.pairs[0].value
    assert isinstance(value, Scalar)
    loaded = yaml.compose(source, Loader=yaml.CSafeLoader)
    assert loaded is not None
    assert value.value == loaded.value[0][1].value
    check_map(source, value)


def test_a_scalar_without_certain_map_is_not_exact() -> None:
    """A scalar whose source does not decode to its value has one place for all its characters."""
    scalar = Scalar(3, 8, None, "x", "single", "a: 'b c'", "str")
    assert not scalar.exact
    assert (scalar.offset(0), scalar.offset(1)) == (3, 3)
    assert scalar.range_of(0, 1) == scalar.within == Span(3, 8)
