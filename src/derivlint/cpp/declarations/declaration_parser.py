"""Parses single declarations with the grammar in ``grammar/declarations.lark``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from derivlint.formula.parsing.grammar_tables import fed_parser
from derivlint.formula.vocabulary import Token

if TYPE_CHECKING:
    from lark import Lark

    from derivlint.cpp.declarations.declaration_syntax import Syntax


@cache
def lark() -> Lark:
    """The LALR parser; its values are what the tree builder makes.

    Lark is imported on first use: whoever takes declarations from an index never reads a header.
    """
    from derivlint.cpp.declarations.declaration_builder import DeclarationBuilder

    return fed_parser("declarations", DeclarationBuilder(), maybe_placeholders=True)


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
