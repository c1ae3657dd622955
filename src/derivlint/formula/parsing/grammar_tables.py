"""Parsers and tables that Lark makes from the grammars in ``grammar/``, and the file format of shipped tables.

Lark is imported on first use: most commands never need it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypedDict

from derivlint.grammar import grammar_text

if TYPE_CHECKING:
    from lark import Lark
    from lark.lexer import Lexer


class Description(TypedDict):
    """The content of a table file.

    Attributes:
        grammar: the checksum of the grammar.
        terminals: the terminals with name and pattern, in matching order.
        rules: the left-hand symbol, the number of right-hand symbols, and the tree builder's method of each rule; the
            method is empty if the value is that of the only symbol.
        rows: the action of each symbol in each state: the next state, or ``-1 - n`` to reduce by rule ``n``. The first
            row is the start state.
        end: the accepting state.
    """

    grammar: int
    terminals: list[tuple[str, str]]
    rules: list[tuple[str, int, str]]
    rows: list[dict[str, int]]
    end: int


def checksum(grammar: str) -> int:
    """The checksum that ties a table to its grammar."""
    return zlib.crc32(grammar.encode())


def fed_parser(grammar: str, builder: Any, *, maybe_placeholders: bool) -> Lark:
    """Make a Lark parser that is fed one token at a time.

    Args:
        grammar: the name of the grammar.
        builder: has a method for each rule, which returns its value.
        maybe_placeholders: whether absent optional parts are None among the children.
    """
    from lark import Lark

    return Lark(
        grammar_text(grammar),
        parser="lalr",
        lexer=_no_lexer(),
        transformer=builder,
        propagate_positions=False,
        maybe_placeholders=maybe_placeholders,
    )


def _no_lexer() -> type[Lexer]:
    from lark.lexer import Lexer

    class NoLexer(Lexer):
        """A stub for Lark's lexers: tokens are fed to the parser one at a time."""

        def __init__(self, lexer_conf: Any) -> None:
            pass

        def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
            raise NotImplementedError("tokens are fed")

    return NoLexer


def describe(grammar: str, builder: object, start: str = "start") -> Description:
    """Compute the table of a grammar with Lark; all rules need a method of the tree builder.

    States are numbered in the order in which they are reached, so the table is a function of the grammar.

    Args:
        grammar: the text of the grammar.
        builder: has a method for each rule, which makes its value.
        start: the start symbol.
    """
    from lark import Lark

    lark = Lark(grammar, parser="lalr", start=start, lexer=_no_lexer(), maybe_placeholders=False)
    parser: Any = lark.parser
    table = parser.parser._parse_table
    rules: list[tuple[str, int, str]] = []
    numbers: dict[Any, int] = {}
    states = [table.start_states[start]]
    rows: list[dict[str, int]] = []
    for state in states:
        row: dict[str, int] = {}
        for symbol, (_, then) in sorted(table.states[state].items()):
            if isinstance(then, int):
                if then not in states:
                    states.append(then)
                row[symbol] = states.index(then)
            else:
                if then not in numbers:
                    numbers[then] = len(rules)
                    rules.append(_rule(then, builder))
                row[symbol] = -1 - numbers[then]
        rows.append(row)
    terminals = [(item.name, item.pattern.to_regexp()) for item in lark.terminals if item.pattern.value]
    return {
        "grammar": checksum(grammar),
        "terminals": terminals,
        "rules": rules,
        "rows": rows,
        "end": states.index(table.end_states[start]),
    }


def _rule(rule: Any, builder: object) -> tuple[str, int, str]:
    """A rule's left-hand symbol, its number of right-hand symbols, and its callback."""
    names = [str(symbol.name) for symbol in rule.expansion]
    assert names, f"{rule}: a rule is not empty"
    assert not any(name.startswith("_") for name in names), f"{rule}: a part has a value of its own"
    passes_on = rule.options.expand1 and rule.alias is None and len(names) == 1
    method = "" if passes_on else str(rule.alias or rule.origin.name)
    assert passes_on or hasattr(builder, method), f"{rule}: the tree builder has no method {method}"
    return str(rule.origin.name), len(names), method


def table_json(description: Description) -> str:
    """Serialize a table, one row per line."""
    parts = []
    for key, value in description.items():
        if isinstance(value, list):
            lines = ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in value)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
