"""The shipped table is the one that Lark makes of the grammar, and following it is what Lark's own parser does."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.exceptions import UnexpectedToken

from derivlint.formula.nodes import Node
from derivlint.formula.parsing import parse_table
from derivlint.formula.parsing.angles import mark_angles, mark_casts
from derivlint.formula.parsing.builder import TreeBuilder
from derivlint.formula.parsing.grammar_tables import describe, fed_parser, table_json
from derivlint.formula.parsing.lambdas import mark_lambdas
from derivlint.formula.parsing.parse_table import END, ParseTable, formula_table
from derivlint.formula.parsing.statements import StatementBuilder, statement_grammar
from derivlint.formula.parsing.tokens import tokens
from derivlint.formula.vocabulary import TRIVIA, Token
from derivlint.grammar import grammar_text, table_text
from tests.formula.shape import shape

LARK = fed_parser("formula", TreeBuilder(), maybe_placeholders=False)
PIECES = (
    *("grad", "self", "at::real", "std::get<0>", "1", "2.5", "'c'", '"s"', "x.sizes()", "f(a, b)", "g[1]", "{1, 2}"),
    *("(", ")", "[", "]", "{", "}", ",", "+", "-", "*", "&", "!", "?", ":", "::", ".", "->", "++", "<", ">", ">>", "="),
    *("(double) x", "[](int64_t i) { return -i; }", "[&] { int a = 1; return a; }", "ArrayRef<const at::Tensor&>{x}"),
)


def fed(text: str) -> list[Token]:
    """The tokens of a text as the parser gets them."""
    significant = [token for token in tokens(text) if token.type not in TRIVIA]
    return mark_lambdas(mark_casts(mark_angles(significant)))[0]


def parsed_by_lark(text: str) -> tuple[Node | None, tuple[str, int] | None]:
    """The tree, or the refused token's terminal and place, from Lark's parser."""
    state = cast("Any", LARK.parse_interactive()).parser_state
    given = fed(text)
    end = given[-1].end if given else 0
    try:
        for token in given:
            state.feed_token(token)
        return state.feed_token(Token(END, "", end, end), True), None
    except UnexpectedToken as error:
        refused = cast("Token", error.token)
        return None, (refused.type, refused.start)


def places(tree: Node) -> list[tuple[str, int, int]]:
    """Every node of a tree with its place."""
    found = [(type(tree).__name__, tree.start, tree.end)]
    for child in tree.children:
        found.extend(places(child))
    return found


def test_the_shipped_table_is_that_of_the_grammar() -> None:
    """Else it is not used; ``python -m tools.parser_tables`` writes it."""
    assert table_text("formula") == table_json(describe(grammar_text("formula"), TreeBuilder()))
    assert table_text("statements") == table_json(describe(statement_grammar(), StatementBuilder, "function"))


@pytest.mark.parametrize(
    "text",
    [
        "grad * self.conj() / std::get<0>(f({1, 2}, x[i] > 0 ? a : b))", '"a" "b"', "f(", "", "a b", "{x, y,}",
        "-~!a++", "[](int64_t i) { return -i; }(2)",
    ],
)  # fmt: skip
def test_the_table_is_followed_as_lark_does(text: str) -> None:
    """The same tree, or the same token is refused."""
    agrees(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))
def test_the_table_is_followed_as_lark_does_on_any_text(text: str) -> None:
    """Trees and refusals of random sequences of tokens, most of them wrong."""
    agrees(text)


def agrees(text: str) -> None:
    expected, refused = parsed_by_lark(text)
    tree, culprit = formula_table().parse(fed(text))
    assert refused == (None if culprit is None else (culprit.type, culprit.start))
    if expected is not None:
        assert (shape(tree), places(tree)) == (shape(expected), places(expected))


def test_a_table_of_another_grammar_is_not_used() -> None:
    """Who changes the grammar gets the parser of what it says now."""
    changed = grammar_text("formula").replace('QUESTION: "?"', 'QUESTION: "??"')
    builder = TreeBuilder()
    made = ParseTable(parse_table.described("formula", changed, builder, "start"), builder)
    assert made.terminals.match("??") is not None
    assert formula_table().terminals.match("??").end() == 1  # type: ignore[union-attr]  # "?" matches


def test_without_a_shipped_table_lark_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read costs time and nothing else."""
    shipped = table_text("formula")
    assert shipped is not None
    monkeypatch.setattr(parse_table, "table_text", lambda name: None)
    made = parse_table.described("formula", grammar_text("formula"), TreeBuilder(), "start")
    assert json.loads(json.dumps(made)) == json.loads(shipped)
