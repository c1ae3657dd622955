"""Where ``<`` opens template arguments and where it compares."""

from __future__ import annotations

import pytest

from tests.formula.shape import shape_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("std::vector<c10::SymInt>(n, 0)", "(call std::vector<c10::SymInt> n 0)"),
        ("std::tuple<Tensor, Tensor>()", "(call std::tuple<Tensor, Tensor>)"),
        ("std::vector<std::optional<Tensor>>(n)", "(call std::vector<std::optional<Tensor>> n)"),
        ("std::vector<std::vector<std::array<bool,2>>>{}", None),
        ("std::array<bool, 2 + 1>{}", "(construct std::array<bool, 2+1> (braces))"),
        ("std::get<0>(std::get<1>(x))", "(call std::get<0> (call std::get<1> x))"),
        ("static_cast<double>(x)", "(call static_cast<double> x)"),
        ("static_cast<const Tensor&>(x)", "(call static_cast<const Tensor&> x)"),
        ("f<unsigned long>(x)", "(call f<unsigned long> x)"),
        ("x.data_ptr<int64_t>() + 1", "(+ (call (. x data_ptr<int64_t>)) 1)"),
        ("at::foo<a>(x)", "(call at::foo<a> x)"),
        ("foo<a>::value", "foo<a>::value"),
        ("std::numeric_limits<T>::max()", "(call std::numeric_limits<T>::max)"),
        ("std::is_same_v<A, B> ? x : y", "(? std::is_same_v<A, B> x y)"),
        ("std::plus<>{}(a, b)", "(call (construct std::plus<> (braces)) a b)"),
        ("std::get<-1>(x)", "(call std::get<-1> x)"),
        ("at::foo<-1>(x)", "(call at::foo<-1> x)"),
        ("at::foo<A, -1>(x)", "(call at::foo<A, -1> x)"),
    ],
)
def test_template_arguments(text: str, expected: str | None) -> None:
    if expected is None:
        expected = "(construct std::vector<std::vector<std::array<bool, 2>>> (braces))"
    assert shape_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x < -1", "(< x (- 1))"),
        ("a < b && c > d", "(&& (< a b) (> c d))"),
        ("dim < 0 ? a : b", "(? (< dim 0) a b)"),
        ("(p < n) > (m)", "(> (paren (< p n)) (paren m))"),
        ("f(a < b, c > (d))", "(call f (< a b) (> c (paren d)))"),
        ("a < b > c", "(> (< a b) c)"),
        ("at::kLong < b > c", "(> (< at::kLong b) c)"),
        ("self.dim() < other.dim()", "(< (call (. self dim)) (call (. other dim)))"),
        ("x.get < y > (z)", "(> (< (. x get) y) (paren z))"),
        ("at::foo < b - 1 > (c)", "(> (< at::foo (- b 1)) (paren c))"),
        ("a >> b > c", "(> (>> a b) c)"),
        ("a < b >> c", "(< a (>> b c))"),
        ("f(a < 1, 2 >= b)", "(call f (< a 1) (>= 2 b))"),
        ("i < n * m", "(< i (* n m))"),
    ],
)
def test_comparisons(text: str, expected: str) -> None:
    assert shape_of(text) == expected
