"""Parses single declarations with the grammar in ``grammar/declarations.lark``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from derivlint.formula.vocabulary import Token
from derivlint.grammar import grammar_text

if TYPE_CHECKING:
    from lark import Lark

    from derivlint.cpp.declaration_syntax import Syntax


@cache
def lark() -> Lark:
    """The LALR parser; its values are what the tree builder makes.

    Lark is imported on first use: whoever takes declarations from an index never reads a header.
    """
    from lark import Lark
    from lark.lexer import Lexer

    from derivlint.cpp.declaration_builder import TreeBuilder

    class NoLexer(Lexer):
        """Stands in for Lark's lexers: tokens are fed to the parser one by one."""

        def __init__(self, lexer_conf: Any) -> None:
            pass

        def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
            raise NotImplementedError("tokens are fed")

    return Lark(
        grammar_text("declarations"),
        parser="lalr",
        lexer=NoLexer,
        transformer=TreeBuilder(),
        propagate_positions=False,
        maybe_placeholders=True,
    )


def parse_declaration(tokens: list[Token]) -> Syntax | Token:
    """The declaration, or the token that the parser refused; ``$END`` where more was expected."""
    from lark.exceptions import UnexpectedToken

    state = cast("Any", lark().parse_interactive()).parser_state
    feed = state.feed_token
    end = tokens[-1].end if tokens else 0
    try:
        for token in tokens:
            feed(token)
        return cast("Syntax", feed(Token("$END", "", end, end), True))
    except UnexpectedToken as error:
        return cast("Token", error.token)
