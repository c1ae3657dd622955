"""The LALR tables of ``grammar/formula.lark`` and ``grammar/statements.lark``, and their LALR parser.

Lark computes the tables. That takes longer than parsing all of PyTorch's formulas, so each table is shipped with a
checksum of its grammar, and recomputed only if the grammar differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from derivlint.formula.parsing.builder import TreeBuilder
from derivlint.formula.parsing.grammar_tables import Description, checksum
from derivlint.formula.vocabulary import Token
from derivlint.grammar import grammar_text, table_text

END = "$END"


#: A reduction: its left-hand symbol, the number of symbols it pops, and its callback; None passes the value on.
Reduction = tuple[str, int, "Callable[[list[Any]], Any] | None"]


class State:
    """A parser state.

    Attributes:
        actions: the action for each terminal: the next state, or a reduction.
        gotos: the next state for each nonterminal.
    """

    __slots__ = ("actions", "gotos")

    def __init__(self) -> None:
        self.actions: dict[str, State | Reduction] = {}
        self.gotos: dict[str, State] = {}


class ParseTable:
    """A table-driven parser for one grammar.

    Attributes:
        terminals: all terminals in one pattern; each group is named after its terminal.
        words: splits a text into token texts; the first unmatched one extends to the end.
    """

    def __init__(self, description: Description, builder: object) -> None:
        self.terminals = re.compile("|".join(f"(?P<{name}>{regexp})" for name, regexp in description["terminals"]))
        patterns = (regexp for _, regexp in description["terminals"])
        # unmatched text is consumed at once: a search for the next token would rescan from each opening quote
        self.words = re.compile("|".join((*patterns, r"[\s\S]+"))).findall
        rules: list[Reduction] = [
            (symbol, size, getattr(builder, method) if method else None)
            for symbol, size, method in description["rules"]
        ]
        symbols = {rule[0] for rule in rules}
        states = [State() for _ in description["rows"]]
        for state, row in zip(states, description["rows"], strict=True):
            for symbol, action in row.items():
                if symbol in symbols:
                    state.gotos[symbol] = states[action]
                else:
                    state.actions[symbol] = states[action] if action >= 0 else rules[-1 - action]
        self._start = states[0]
        self._end = states[description["end"]]

    def parse(self, tokens: list[Token]) -> tuple[Any, Token | None]:
        """Return the value of the start symbol, or the first token that does not fit; ``$END`` for incomplete text."""
        state = self._start
        end = self._end
        states = [state]
        values: list[Any] = []
        last = tokens[-1].end if tokens else 0
        for token in (*tokens, Token(END, "", last, last)):
            kind = token.type
            action = state.actions.get(kind)
            while isinstance(action, tuple):
                symbol, size, build = action
                if size == 1:
                    # two of three rules have one symbol and no callback
                    if build is not None:
                        values[-1] = build(values[-1:])
                    state = states[-1] = states[-2].gotos[symbol]
                else:
                    if build is not None:
                        values[-size:] = (build(values[-size:]),)
                    state = states[-1 - size].gotos[symbol]
                    states[-size:] = (state,)
                if state is end:
                    return values[-1], None
                action = state.actions.get(kind)
            if action is None:
                return None, token
            state = action
            states.append(state)
            values.append(token)
        raise AssertionError("a table ends with the end of the tokens")


@cache
def formula_table() -> ParseTable:
    """The parser of formulas; its values are nodes."""
    builder = TreeBuilder()
    return ParseTable(described("formula", grammar_text("formula"), builder, "start"), builder)


def described(name: str, grammar: str, builder: object, start: str) -> Description:
    """The bundled table if it belongs to the grammar, else one computed by Lark."""
    shipped = table_text(name)
    if shipped is not None:
        description: Description = json.loads(shipped)
        if description["grammar"] == checksum(grammar):
            return description
    from derivlint.formula.parsing.grammar_tables import describe

    return describe(grammar, builder, start)
