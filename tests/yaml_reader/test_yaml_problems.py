"""Problems: every mistake with the exact place, in words for people who write formulas."""

from __future__ import annotations

import pytest

from derivlint.source import SourceFile, Span
from derivlint.yaml_reader import Sequence, read_yaml
from tests.yaml_reader.helpers import read, scalars, shown

QUOTE_FORMULA = "put the formula in double quotes"
IF_FORMULA = "if it is a formula, put it in double quotes"


def entry(line: str) -> str:
    return f"- name: f\n  {line}\n"


@pytest.mark.parametrize(
    ("line", "marked", "message", "help_"),
    [
        ("self: a ? grad : grad", ":", '": " inside an unquoted value starts a mapping', QUOTE_FORMULA),
        ("self: f(a ? b : c)", ":", '": " inside an unquoted value starts a mapping', QUOTE_FORMULA),
        (
            'self: a == "x" ? b : c',
            ":",
            '": " inside an unquoted value starts a mapping',
            "put the value in single quotes",
        ),
        ("self: a ? b\n    : c", ":", '": " at the start of a line begins the value of a key', QUOTE_FORMULA),
        (
            "self: {grad",
            "{",
            'the "{" that opens here is never closed',
            'close it with "}"; if the value is a formula, put it in double quotes',
        ),
        ("self: {a} * b", "{", 'a value that starts with "{" is a mapping in braces', IF_FORMULA),
        ("self: [a] * b", "[", 'a value that starts with "[" is a list in brackets', IF_FORMULA),
        ("self: [a] + b", "[", 'a value that starts with "[" is a list in brackets', IF_FORMULA),
        ("self: * grad", "*", 'a value that starts with "*" is an alias', IF_FORMULA),
        ("self: & grad", "&", 'a value that starts with "&" is an anchor', IF_FORMULA),
        ("self: !a ? b : c", "!", 'a value that starts with "!" is a tag', IF_FORMULA),
        ("self: [a, @b]", "@", 'a value cannot start with "@"', IF_FORMULA),
        ("self: [a, - b]", "[", 'a value that starts with "[" is a list in brackets', IF_FORMULA),
        ("self: %a", "%", 'a value cannot start with "%"', IF_FORMULA),
        ("self: @a", "@", 'a value cannot start with "@"', IF_FORMULA),
        ("self: `a", "`", 'a value cannot start with "`"', IF_FORMULA),
        ("self: , a", ",", 'a value cannot start with ","', IF_FORMULA),
        ("self: ] a", "]", 'a value cannot start with "]"', IF_FORMULA),
        ("self: >= b", ">", 'a value that starts with ">" is a block of folded text', IF_FORMULA),
        ("self: || b", "|", 'a value that starts with "|" is a block of literal text', IF_FORMULA),
        ("self: - grad", "-", 'a value that starts with "- " is a list item', QUOTE_FORMULA),
        ("\tself: grad", "\t", "YAML does not allow tabs for indentation", "indent with spaces"),
        (
            "self: 'a' * b",
            "* b",
            '"* b" follows the single quote that closes the value',
            "put the whole value in quotes, and double the quotes inside",
        ),
        (
            'self: "a" == b ? c : d',
            "== b ? c : d",
            '"== b ? c : d" follows the double quote that closes the value',
            'put the whole value in single quotes, or write \\" inside',
        ),
        (
            'self: "a\\q"',
            "\\q",
            '"\\q" is not an escape that YAML knows',
            "write the backslash twice, or put the value in single quotes",
        ),
        (
            'self: "a\\u12"',
            "\\u12",
            '"\\u12" is not an escape that YAML knows',
            "write the backslash twice, or put the value in single quotes",
        ),
        ("self: 'a", "'", "the single quote that opens here is never closed", "close it with '"),
        ('self: "a', '"', "the double quote that opens here is never closed", 'close it with "'),
        (
            "other",
            "other",
            '"other" has no ":" to be a key, and too little indentation to continue',
            'add ": " after the key, or indent the line further than the key above',
        ),
        (
            "   other: grad",
            "other:",
            '"other:" cannot be a key here: its indentation continues the value above',
            "indent the key like the other keys, or put the value above in double quotes",
        ),
    ],
)
def test_syntax_problem_marks_the_mistake(line: str, marked: str, message: str, help_: str) -> None:
    text = entry(line)
    document = read(text)
    assert [(p.kind.value, text[p.span.start : p.span.end], p.message) for p in document.problems] == [
        ("syntax", marked, message)
    ]
    assert document.problems[0].help == help_
    assert len(document.problems[0].message) <= 100
    assert read(text, pure=True).problems == document.problems
    # The mark is in the line in question, not somewhere before or after it.
    assert document.problems[0].span.start >= text.index(line.strip(" "))


def test_places_are_exact_when_the_mark_occurs_more_than_once() -> None:
    text = entry("self: a ? b::c : d")
    assert read(text).problems[0].span == Span(text.index(": d"), text.index(": d") + 1)
    text = entry("self: 'é' 🎉 : x")
    assert read(text).problems[0].span == Span(text.index("🎉"), text.index("x") + 1)


@pytest.mark.parametrize(
    ("text", "marked", "message"),
    [
        ("- a: b\n c: d\n", "c:", "this key, indented by 1, belongs to no list or mapping above it"),
        ("- a: b\nc: d\n", "c:", "this key, indented by 0, belongs to no list or mapping above it"),
        ("a: b\n- c\n", "-", "this list item, indented by 0, belongs to no list or mapping above it"),
        ("a: 'b'\n  - c\n", "-", "this list item, indented by 2, belongs to no list or mapping above it"),
        ("a\n...\nb\n", "b", "text after the end of the document"),
        ("%YAML 2.0\n---\na\n", "%YAML 2.0", '"%YAML 2.0" is not a directive that YAML 1.1 knows'),
        ("a: [b\nc: d\n", "[", 'the "[" that opens here is never closed'),
        ("a: [b,\n", "[", 'the "[" that opens here is never closed'),
        ("a: {b: [c, d}\n", "[", 'a value that starts with "[" is a list in brackets'),
        ("x" * 1100 + ": a\n", "x" * 1100, "a key has more than 1024 characters"),
        (">\na\n", "a", "the text of a block must be indented"),
        ('a: "\\ud800"\n', "\\ud800", '"\\ud800" is not an escape that YAML knows'),
    ],
)
def test_layout_problems(text: str, marked: str, message: str) -> None:
    assert shown(text) == [("syntax", marked, message)]
    assert [problem.message for problem in read(text, pure=True).problems] == [message]


def test_unclosed_quote_tells_where_the_text_still_goes_on() -> None:
    text = "- a: 'b\n- c: d\n"
    (problem,) = read(text).problems
    assert problem.related == (("still open at the next list item", Span(8, 9)),)


def test_unclosed_bracket_tells_what_does_not_fit() -> None:
    text = "a: [b\nc: d\n"
    (problem,) = read(text).problems
    assert problem.related == (("this no longer fits into it", Span(7, 8)),)


def test_alias_without_anchor_names_the_anchors_there_are() -> None:
    text = "- &x a\n- *grad\n"
    (problem,) = read(text).problems
    assert (problem.kind.value, problem.message, problem.span) == (
        "syntax",
        'alias "*grad" has no anchor "&grad" before it',
        Span(9, 14),
    )
    assert problem.help is not None
    assert problem.help.endswith('; anchors so far: "x"')


def test_recursive_alias_is_refused() -> None:
    text = "- &a [b, *a]\n- &c {d: *c}\n- e\n"
    assert shown(text) == [
        ("syntax", "*a", 'alias "*a" is inside the node that it names'),
        ("syntax", "*c", 'alias "*c" is inside the node that it names'),
    ]
    assert [scalar.value for scalar in scalars(read(text).root)] == ["e"]


@pytest.mark.parametrize("text", ["a\n---\nb\n", "- a\n---\n- b\n", "--- a\n--- b\n", "a\n...\n---\nb: : c\n"])
def test_a_second_document_is_refused_where_it_starts(text: str) -> None:
    document = read(text)
    (problem,) = document.problems
    start = text.rindex("---")
    assert (problem.kind.value, problem.message, problem.span) == (
        "several-documents",
        "a second YAML document starts here",
        Span(start, start + 3),
    )
    # The first document stays.
    assert [scalar.value for scalar in scalars(document.root)] == ["a"]


@pytest.mark.parametrize(
    ("char", "name"),
    [
        ("\0", "character NUL"),
        ("\x01", "control character U+0001"),
        ("\x7f", "control character U+007F"),
        ("\x9f", "control character U+009F"),
        ("\ufffe", "character U+FFFE"),
        ("\ud800", "character U+D800"),
    ],
)
def test_characters_that_yaml_forbids(char: str, name: str) -> None:
    text = f"- é: b\n- c: '{char}{char}'\n"
    for pure in (False, True):
        document = read(text, pure=pure)
        assert document.root is None
        (problem,) = document.problems
        assert (problem.kind.value, problem.message) == ("encoding", f"YAML does not allow the {name}")
        assert problem.span == Span(13, 14)


def test_bytes_that_are_no_utf_8() -> None:
    document = read_yaml(SourceFile.from_bytes("x", b"\xc3\xa9: \xff\xff"))
    assert document.root is None
    (problem,) = document.problems
    assert (problem.kind.value, problem.span) == ("encoding", Span(3, 4))


def test_a_second_byte_order_mark() -> None:
    (problem,) = read("\ufeff\ufeffa").problems
    assert (problem.kind.value, problem.span) == ("encoding", Span(1, 2))


def test_colons_in_flow_collections_are_as_in_pyyaml() -> None:
    """PyYAML's libyaml reads ``[at::kFloat]``; the older one of ruamel.yaml alone would refuse it."""
    for text in ("- a: [at::kFloat, b]\n- c: {d: e::f}\n", "a: [at::kFloat, b]\nc: {d: e::f}\n"):
        document = read(text)
        assert document.problems == ()
        assert [scalar.value for scalar in scalars(document.root)] == ["a", "at::kFloat", "b", "c", "d", "e::f"]


def test_root_of_a_list_with_only_broken_items_is_an_empty_list() -> None:
    root = read("- a: b: c\n").root
    assert isinstance(root, Sequence)
    assert root.items == ()
