"""The LALR tables of ``grammar/formula.lark`` and ``grammar/statements.lark``, and the parser that follows them.

Lark makes the tables. Making one takes longer than parsing every formula of PyTorch does, so a table is shipped beside
its grammar, with a checksum of the grammar that it is of; of any other grammar Lark makes it again.
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


#: A complete rule: its symbol, how many symbols it consists of, and what makes its value of theirs.
Reduction = tuple[str, int, "Callable[[list[Any]], Any] | None"]


class State:
    """A state of the parser.

    Attributes:
        actions: the action for each terminal: the next state, or a complete rule.
        gotos: the state after each symbol that a rule is for.
    """

    __slots__ = ("actions", "gotos")

    def __init__(self) -> None:
        self.actions: dict[str, State | Reduction] = {}
        self.gotos: dict[str, State] = {}


class ParseTable:
    """A parser for the formulas of one grammar.

    Attributes:
        terminals: all terminals in one pattern; the name of the group is the terminal.
        words: the texts of the tokens of a text, one after the other; the first that is none goes to its end.
    """

    def __init__(self, description: Description, builder: object) -> None:
        self.terminals = re.compile("|".join(f"(?P<{name}>{regexp})" for name, regexp in description["terminals"]))
        patterns = (regexp for _, regexp in description["terminals"])
        # what is none is passed once; searching for the next token would look at each opening quote again
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
        """The value of the start symbol, or the token that fits nothing before it; ``$END`` where more is expected."""
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
                    # two of three rules consist of one symbol
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
    """The parser of formulas; its values are the nodes that the tree builder makes."""
    builder = TreeBuilder()
    return ParseTable(described("formula", grammar_text("formula"), builder, "start"), builder)


def described(name: str, grammar: str, builder: object, start: str) -> Description:
    """The bundled table with a name if it belongs to the grammar; else one computed by Lark."""
    shipped = table_text(name)
    if shipped is not None:
        description: Description = json.loads(shipped)
        if description["grammar"] == checksum(grammar):
            return description
    from derivlint.formula.parsing.grammar_tables import describe

    return describe(grammar, builder, start)
