"""Precedence and associativity of C++ operators: turns a flat chain of operators and operands into a tree.

The grammar keeps ``a + b * -c`` as the chain ``a + b * - c``. Operators wait on a stack until one that binds less
tightly follows (Dijkstra's shunting-yard algorithm), so long formulas cost no recursion.
"""

from __future__ import annotations

from typing import cast

from derivlint.formula.nodes import Binary, Cast, Conditional, Expr, TypeName, Unary
from derivlint.formula.vocabulary import WORD_OPERATORS, Token

#: Operands, operator tokens, and casts as their start and type. A "?" is followed by its middle operand and a ":".
Chain = list[Expr | Token | tuple[int, TypeName]]

_ASSIGNMENT = 1
_PREFIX = 16
PRECEDENCE = {
    **dict.fromkeys(("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|=", "?"), _ASSIGNMENT),
    "||": 2,
    "&&": 3,
    "|": 4,
    "^": 5,
    "&": 6,
    **dict.fromkeys(("==", "!="), 7),
    **dict.fromkeys(("<", "<=", ">", ">="), 8),
    "<=>": 9,
    **dict.fromkeys(("<<", ">>"), 10),
    **dict.fromkeys(("+", "-"), 11),
    **dict.fromkeys(("*", "/", "%"), 12),
    **dict.fromkeys(("->*", ".*"), 13),
}


def spelling(operator: Token) -> str:
    """The operator with symbols: ``&&`` for ``and``."""
    text = operator.text
    return WORD_OPERATORS[text][1] if text[0].isalpha() else text


class _Pending:
    """An operator that waits for its right operand."""

    __slots__ = ("level", "operator", "then")

    def __init__(self, level: int, operator: Token | tuple[int, TypeName], then: Expr | None = None) -> None:
        self.level = level
        self.operator = operator
        self.then = then


def climb(chain: Chain, last: Expr) -> Expr:
    """The tree of a chain and its last operand."""
    if len(chain) == 2 and isinstance(chain[0], Expr):
        operator = cast("Token", chain[1])
        return Binary(chain[0].start, last.end, spelling(operator), operator.start, chain[0], last)
    operands: list[Expr] = []
    pending: list[_Pending] = []
    items = iter((*chain, last))
    wants_operand = True
    for item in items:
        if isinstance(item, Expr):
            operands.append(item)
            wants_operand = False
            continue
        if wants_operand:
            pending.append(_Pending(_PREFIX, item))
            continue
        operator = cast("Token", item)
        symbol = spelling(operator)
        level = PRECEDENCE[symbol]
        # assignments and "?:" group from the right, everything else from the left
        while pending and (pending[-1].level > level or (pending[-1].level == level and level != _ASSIGNMENT)):
            _reduce(operands, pending.pop())
        then = None
        if symbol == "?":
            then = cast("Expr", next(items))
            next(items)
        pending.append(_Pending(level, operator, then))
        wants_operand = True
    while pending:
        _reduce(operands, pending.pop())
    return operands[0]


def _reduce(operands: list[Expr], waiting: _Pending) -> None:
    right = operands.pop()
    operator = waiting.operator
    if isinstance(operator, tuple):
        operands.append(Cast(operator[0], right.end, operator[1], right))
    elif waiting.level == _PREFIX:
        operands.append(Unary(operator.start, right.end, spelling(operator), right))
    elif waiting.then is not None:
        left = operands.pop()
        operands.append(Conditional(left.start, right.end, operator.start, left, waiting.then, right))
    else:
        left = operands.pop()
        operands.append(Binary(left.start, right.end, spelling(operator), operator.start, left, right))
