"""The words of a formula and their roles."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derivlint.formula import parse_formula, tokens


def roles(text: str) -> list[tuple[str, str]]:
    return [(word.text, word.role) for word in parse_formula(text).words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("grad * self.grad", [("grad", "variable"), ("self", "variable"), ("grad", "member")]),
        ("f(x)->y", [("f", "callee"), ("x", "variable"), ("y", "member")]),
        ("at::real(grad)", [("at", "qualified"), ("real", "qualified"), ("grad", "variable")]),
        ("::std::nullopt", [("std", "qualified"), ("nullopt", "qualified")]),
        ("IntArrayRef{n}", [("IntArrayRef", "callee"), ("n", "variable")]),
        ("std::get<1>(x)", [("std", "qualified"), ("get", "qualified"), ("x", "variable")]),
        (
            "std::vector<at::Tensor>(n)",
            [("std", "qualified"), ("vector", "qualified"), ("at", "type"), ("Tensor", "type"), ("n", "variable")],
        ),
        ("static_cast<T>(x)", [("static_cast", "callee"), ("T", "type"), ("x", "variable")]),
        ("(double) x", [("double", "type"), ("x", "variable")]),
        (
            'f("floor, mode") /* self */',
            [("f", "callee"), ("floor", "string"), ("mode", "string"), ("self", "comment")],
        ),
        ("a // b c", [("a", "variable"), ("b", "comment"), ("c", "comment")]),
        ("1e-5 + x1 * 0x1F", [("x1", "variable")]),
        ("not a and b", [("not", "keyword"), ("a", "variable"), ("and", "keyword"), ("b", "variable")]),
        ("true ? this : x", [("true", "variable"), ("this", "variable"), ("x", "variable")]),
        (
            "[y](c10::SymInt i) { return -i + y; } + i",
            [
                ("y", "variable"), ("c10", "qualified"), ("SymInt", "qualified"), ("i", "lambda"),
                ("return", "keyword"), ("i", "lambda"), ("y", "variable"), ("i", "variable"),
            ],
        ),
        (
            "[&] { const Tensor& t = f(x); return t; }()",
            [
                ("const", "type"),
                ("Tensor", "type"),
                ("t", "lambda"),
                ("f", "callee"),
                ("x", "variable"),
                ("return", "keyword"),
                ("t", "lambda"),
            ],
        ),
    ],
)  # fmt: skip
def test_roles(text: str, expected: list[tuple[str, str]]) -> None:
    assert roles(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(grad, self.x", [("f", "callee"), ("grad", "variable"), ("self", "variable"), ("x", "member")]),
        ("grad $ self", [("grad", "variable"), ("self", "variable")]),
        ('f("self', [("f", "callee"), ("self", "string")]),
        ("f(x /* self", [("f", "callee"), ("x", "variable"), ("self", "comment")]),
        ("return grad;", [("return", "keyword"), ("grad", "variable")]),
        ("grad; // x", [("grad", "variable"), ("x", "comment")]),
        ("", []),
    ],
)
def test_words_are_known_without_a_good_tree(text: str, expected: list[tuple[str, str]]) -> None:
    assert roles(text) == expected


PIECES = st.sampled_from(
    ["grad", "self", "at::", "x.", "(", ")", "[", "]", "{", "}", "<", ">", "1.5", "2L", '"a b"', "/* c */", "// d",
     "\n", " ", ",", "+", "return", "and", ";", "?", ":", '"', "é", "²", "٣", "[](int i) { return i; }"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join))
def test_words_are_the_runs_of_word_characters_outside_numbers(text: str) -> None:
    in_numbers = {
        position for token in tokens(text) if token.type == "NUMBER" for position in range(token.start, token.end)
    }
    expected = [(match[0], match.start()) for match in re.finditer(r"\w+", text) if match.start() not in in_numbers]
    # "1.5x" is one token to C++: a run that begins inside of it is a part of it, and runs never begin before it
    assert [(word.text, word.start) for word in parse_formula(text).words] == expected
    assert all(text[word.start : word.end] == word.text for word in parse_formula(text).words)
