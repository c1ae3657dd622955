"""Bodies of functions: every kind of statement, places, and what is not understood."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derivlint.formula.nodes import (
    MAX_DEPTH,
    Block,
    Declared,
    ExpressionStatement,
    If,
    Lambda,
    Loop,
    Name,
    Node,
    ReturnStatement,
    Statement,
    UnknownStatement,
    walk,
)
from derivlint.formula.parsing.statements import MAX_UNKNOWN, parse_body
from derivlint.formula.parsing.tokens import tokens
from derivlint.formula.vocabulary import TRIVIA


def body_of(text: str) -> Block:
    """The statements of a text."""
    return parse_body([token for token in tokens(text) if token.type not in TRIVIA], 0, len(text))


def kinds(text: str) -> list[str]:
    """The kind of every statement in a body and its text, outer ones first."""
    return [
        f"{type(node).__name__}: {text[node.start : node.end]}"
        for node in walk(body_of(text))
        if isinstance(node, (Statement, Declared)) and node.end <= len(text)
    ][1:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tensor x;", ["Declaration: Tensor x;", "Declared: Tensor x"]),
        ("const auto& x = f(y);", ["Declaration: const auto& x = f(y);", "Declared: const auto& x = f(y)"]),
        (
            "std::vector<Tensor> a(n), b{x};",
            ["Declaration: std::vector<Tensor> a(n), b{x};", "Declared: std::vector<Tensor> a(n)", "Declared: b{x}"],
        ),
        ("auto [q, r] = f(x);", ["Declaration: auto [q, r] = f(x);", "Declared: auto [q, r] = f(x)"]),
        ("x = {a, b};", ["ExpressionStatement: x = {a, b};"]),
        ("x.mul_(y);", ["ExpressionStatement: x.mul_(y);"]),
        ("std::tie(a, b) = f(x);", ["ExpressionStatement: std::tie(a, b) = f(x);"]),
        ("return;", ["ReturnStatement: return;"]),
        ("return {a, b};", ["ReturnStatement: return {a, b};"]),
        ("if (a) b; else { }", ["If: if (a) b; else { }", "ExpressionStatement: b;", "Block: { }"]),
        ("while (a) break;", ["Loop: while (a) break;", "Jump: break;"]),
        (
            "for (const auto i : c10::irange(n)) x += y[i];",
            [
                "Loop: for (const auto i : c10::irange(n)) x += y[i];",
                "Declared: const auto i",
                "ExpressionStatement: x += y[i];",
            ],
        ),
        (
            "for (int64_t i = 0; i < n; ++i) { continue; }",
            [
                "Loop: for (int64_t i = 0; i < n; ++i) { continue; }",
                "Declaration: int64_t i = 0;",
                "Declared: int64_t i = 0",
                "Block: { continue; }",
                "Jump: continue;",
            ],
        ),
        (
            'TORCH_CHECK(a < b, "no") Tensor x;',
            ['ExpressionStatement: TORCH_CHECK(a < b, "no")', "Declaration: Tensor x;", "Declared: Tensor x"],
        ),
        (
            "for ([[maybe_unused]] const auto i : n) ;",
            ["Loop: for ([[maybe_unused]] const auto i : n) ;", "Declared: const auto i", "Empty: ;"],
        ),
    ],
)
def test_statements_with_their_places(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        (
            "switch (a) { case 1: return b; default: break; } return c;",
            "switch (a) { case 1: return b; default: break; }",
        ),
        ("try { f(); } catch (const E& e) { g(); } return c;", "try { f(); } catch (const E& e) { g(); }"),
        ("using std::max; return c;", "using std::max;"),
        ("auto x = a b c; return c;", "auto x = a b c;"),
        ("if (auto y = f()) { g(y); } return c;", "if (auto y = f()) { g(y); }"),
        ("do { f(); } while (a); return c;", "do { f(); } while (a);"),
    ],
)
def test_an_unknown_statement_is_passed_over_and_the_body_goes_on(text: str, unknown: str) -> None:
    first, second = body_of(text).statements
    assert isinstance(first, UnknownStatement)
    assert text[first.start : first.end] == unknown
    assert first.may_return is ("return b" in text)
    assert isinstance(second, ReturnStatement)


def test_what_is_not_known_inside_a_block_leaves_the_block() -> None:
    text = "if (a) { x = b ? ; y = c; } return d;"
    condition, last = body_of(text).statements
    assert isinstance(condition, If)
    assert isinstance(condition.then, Block)
    unknown, known = condition.then.statements
    assert isinstance(unknown, UnknownStatement)
    assert [name.simple for name in unknown.names] == ["x", "b"]
    assert isinstance(known, ExpressionStatement)
    assert isinstance(last, ReturnStatement)


def test_lambdas_have_their_statements() -> None:
    text = "auto f = [&](const Tensor& x) { Tensor y = x; return [](int i) { i += 1; return i; }(y); };"
    found = [node for node in walk(body_of(text)) if isinstance(node, Lambda)]
    assert [param.name for each in found for param in each.params] == ["x"]
    (outer,) = found
    assert isinstance(outer.statements, Block)
    assert [type(each).__name__ for each in outer.statements.statements] == ["Declaration", "ReturnStatement"]
    (inner,) = [node for node in walk(outer.statements) if isinstance(node, Lambda)]
    assert inner.statements is not None
    assert text[inner.statements.start : inner.statements.end] == "i += 1; return i;"


def test_too_much_that_is_unknown_or_nested_is_one_unknown_statement() -> None:
    for text in ("a + ; " * (MAX_UNKNOWN + 1), "if (a) " * (MAX_DEPTH + 1) + ";", "{" * 3000):
        (only,) = body_of(text).statements
        assert isinstance(only, UnknownStatement)
        assert (only.start, only.end) == (0, len(text.rstrip()))


PIECES = (
    *("Tensor", "x", "auto", "const", "=", "==", ";", "{", "}", "(", ")", "[", "]", "<", ">", ",", "&", "*", "."),
    *(
        "if (x)", "else", "for (auto i : x)", "while (x)", "return", "switch", "do", "try", "case 1:", "[&](int i) {",
        ":",
    ),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
def test_any_text_has_statements_within_it(text: str) -> None:
    def check(node: Node, start: int, end: int) -> None:
        assert start <= node.start <= node.end <= end
        for child in node.children:
            check(child, start, end)

    check(body_of(text), 0, len(text))


def test_names_are_where_they_are_written() -> None:
    text = "auto [a, b] = f(x); for (auto& t : ts) { a.push_back(t); } if (!b.defined()) { return a + b; }"
    for node in walk(body_of(text)):
        if isinstance(node, Name) and node.simple is not None:
            assert text[node.start : node.end] == node.simple
    assert [type(each) for each in body_of(text).statements[1:]] == [Loop, If]
