"""Formulas are compared as trees: another layout says the same, anything else does not."""

from __future__ import annotations

import pytest

from derivlint.review.entries import shape_of_text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("grad * self", "grad*self"), ("grad * self", "(grad * self)"), ("f(a, b)", "f( a,\n  b )"),
        ("a /* why */ + b", "a + b"), ("a + b", "(a) + (b)"), ("std::get<0>(f(a))", "std :: get< 0 >( f(a) )"),
        ("f([&]() { return a; }(), b)", "f([&](){return a;}(),b)"), ("a ? b : c", "a? b :c"), ("f(", "f ("),
    ],
)  # fmt: skip
def test_another_layout_is_the_same(one: str, other: str) -> None:
    assert shape_of_text(one) == shape_of_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("grad * self", "self * grad"), ("a - (b - c)", "a - b - c"), ("a.b", "a->b"), ("f(a)", "f(a, b)"),
        ("f(a)", "g(a)"), ("std::get<0>(x)", "std::get<1>(x)"), ("a + 1", "a + 2"), ("-a", "a"), ('f("a")', 'f("b")'),
        ("f([&]() { return a; }())", "f([&]() { return b; }())"), ("{a, b}", "{a}"), ("f(", "f(a"),
        ("int64_t(a)", "double(a)"),
    ],
)  # fmt: skip
def test_another_meaning_is_not(one: str, other: str) -> None:
    assert shape_of_text(one) != shape_of_text(other)
