"""The parser that Lark makes of ``grammar/formula.lark``, and the grammar's terminals as one pattern.

Lark is imported on first use: many commands never parse a formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from derivlint.grammar import grammar_text

if TYPE_CHECKING:
    from lark import Lark


@cache
def lark() -> Lark:
    """The LALR parser; its values are the nodes that the tree builder makes."""
    from derivlint.formula.builder import TreeBuilder

    return fed_parser("formula", TreeBuilder(), maybe_placeholders=False)


def fed_parser(grammar: str, builder: Any, *, maybe_placeholders: bool) -> Lark:
    """A parser that is fed with tokens one by one.

    Args:
        grammar: the name of the grammar.
        builder: has a method for each rule, which makes its value.
        maybe_placeholders: whether an optional part that is absent is None among the children.
    """
    from lark import Lark
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """Stands in for Lark's lexers: tokens are fed to the parser one by one."""

        def __init__(self, lexer_conf: Any) -> None:
            pass

        def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
            raise NotImplementedError("tokens are fed")

    return Lark(
        grammar_text(grammar),
        parser="lalr",
        lexer=NoLexer,
        transformer=builder,
        propagate_positions=False,
        maybe_placeholders=maybe_placeholders,
    )


@cache
def terminals_pattern() -> re.Pattern[str]:
    """All terminals in one pattern, in the order of the grammar; the name of the group is the terminal."""
    defined = [item for item in lark().terminals if item.pattern.value]
    return re.compile("|".join(f"(?P<{item.name}>{item.pattern.to_regexp()})" for item in defined))
