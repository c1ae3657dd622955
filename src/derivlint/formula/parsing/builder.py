"""The callbacks of the Lark parser, one method for each alias in ``grammar/formula.lark``; operator precedence.

The grammar leaves ``a + b * -c`` as the flat chain ``a + b * - c``. Dijkstra's shunting-yard algorithm builds the tree,
so long formulas need no recursion.
"""

from __future__ import annotations

from typing import Any, cast

from derivlint.formula.nodes import (
    Binary,
    BraceList,
    Call,
    Cast,
    Char,
    Conditional,
    Construct,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    NamePart,
    Number,
    Parenthesized,
    Postfix,
    String,
    TypeName,
    Unary,
)
from derivlint.formula.parsing.lambdas import LambdaInfo
from derivlint.formula.vocabulary import WORD_OPERATORS, Token

#: A partial qualified name: its start, whether it has a leading "::", and its segments.
Qualified = tuple[int, bool, list[NamePart]]
#: Template arguments and the end of their closing bracket.
TemplateArgs = tuple[tuple[Number | TypeName, ...], int]
TypeItems = list[Name | Token]


def _part(token: Token) -> NamePart:
    return NamePart(token.text, token.start, token.end)


def simple_name(token: Token) -> Name:
    """Make a name from one identifier."""
    text, start, end = token.text, token.start, token.end
    return Name(start, end, (NamePart(text, start, end),), False, text)


def _name(qualified: Qualified) -> Name:
    start, leading_colons, parts = qualified
    return Name(start, parts[-1].end, tuple(parts), leading_colons, None)


def _type_name(items: TypeItems) -> TypeName:
    names = tuple(item for item in items if isinstance(item, Name))
    spelling = ""
    for item in items:
        if isinstance(item, Name):
            spelling += (" " if spelling else "") + item.spelling
        else:
            spelling += item.text
    return TypeName(items[0].start, items[-1].end, names, spelling)


def _template_arg(items: TypeItems) -> Number | TypeName:
    first = items[0]
    if len(items) == 1 and isinstance(first, Token) and first.type == "NUMBER":
        return Number(first.start, first.end, first.text)
    return _type_name(items)


class TreeBuilder:
    """The parser's callbacks; each returns the value of a rule, given the values of its symbols."""

    def start(self, children: list[Any]) -> Expr:  # noqa: D102
        expression: Expr = children[0]
        return expression

    # ---- chains of operators

    def chain_start(self, children: list[Any]) -> Chain:  # noqa: D102
        return children

    def chain_more(self, children: list[Any]) -> Chain:  # noqa: D102
        chain: Chain = children[0]
        chain.extend(children[1:])
        return chain

    def chain_cast(self, children: list[Any]) -> Chain:  # noqa: D102
        opening, items, _ = children
        return [(opening.start, _type_name(items))]

    def chain_more_cast(self, children: list[Any]) -> Chain:  # noqa: D102
        chain: Chain = children[0]
        chain.extend(self.chain_cast(children[1:]))
        return chain

    def climb(self, children: list[Any]) -> Expr:  # noqa: D102
        return climb(children[0], children[1])

    # ---- operands

    def simple_name(self, children: list[Any]) -> Name:  # noqa: D102
        return simple_name(children[0])

    def qualified_name(self, children: list[Any]) -> Name:  # noqa: D102
        return _name(children[0])

    def number(self, children: list[Any]) -> Number:  # noqa: D102
        token = children[0]
        return Number(token.start, token.end, token.text)

    def char(self, children: list[Any]) -> Char:  # noqa: D102
        token = children[0]
        return Char(token.start, token.end, token.text)

    def string(self, children: list[Any]) -> String:  # noqa: D102
        tokens: list[Token] = children[0]
        return String(tokens[0].start, tokens[-1].end, " ".join(token.text for token in tokens))

    def construct_simple(self, children: list[Any]) -> Construct:  # noqa: D102
        token, braces = children
        return Construct(token.start, braces.end, simple_name(token), braces)

    def construct(self, children: list[Any]) -> Construct:  # noqa: D102
        qualified, braces = children
        return Construct(qualified[0], braces.end, _name(qualified), braces)

    def parenthesized(self, children: list[Any]) -> Parenthesized:  # noqa: D102
        opening, inner, closing = children
        return Parenthesized(opening.start, closing.end, inner)

    def comma(self, children: list[Any]) -> Binary:  # noqa: D102
        first, operator, right = children
        return Binary(first.start, right.end, ",", operator.start, first, right)

    def call_empty(self, children: list[Any]) -> Call:  # noqa: D102
        callee, _, closing = children
        return Call(callee.start, closing.end, callee, ())

    def call(self, children: list[Any]) -> Call:  # noqa: D102
        callee, _, items, closing = children
        return Call(callee.start, closing.end, callee, tuple(items))

    def index(self, children: list[Any]) -> Index:  # noqa: D102
        base, _, items, closing = children
        return Index(base.start, closing.end, base, tuple(items))

    def member(self, children: list[Any]) -> Member:  # noqa: D102
        base, operator, name = children[:3]
        arrow = operator.text == "->"
        if len(children) == 3:
            return Member(base.start, name.end, base, name.text, name.start, name.end, arrow)
        template_args, end = children[3]
        return Member(base.start, end, base, name.text, name.start, name.end, arrow, template_args)

    def postfix(self, children: list[Any]) -> Postfix:  # noqa: D102
        operand, step = children
        return Postfix(operand.start, step.end, step.text, operand)

    def lambda_return(self, children: list[Any]) -> Lambda:  # noqa: D102
        opening, body, closing = children
        return self._lambda(opening.info, closing.end, body)

    def lambda_opaque(self, children: list[Any]) -> Lambda:  # noqa: D102
        token = children[0]
        return self._lambda(token.info, token.end, None)

    @staticmethod
    def _lambda(info: LambdaInfo, end: int, body: Expr | None) -> Lambda:
        uses = tuple(simple_name(token) for token in info.uses)
        return Lambda(info.start, end, info.start, info.capture_end, info.params, body, uses, info.type_names)

    # ---- lists

    def braces_empty(self, children: list[Any]) -> BraceList:  # noqa: D102
        return BraceList(children[0].start, children[-1].end, ())

    def braces(self, children: list[Any]) -> BraceList:  # noqa: D102
        return BraceList(children[0].start, children[-1].end, tuple(children[1]))

    def list_start(self, children: list[Any]) -> list[Any]:  # noqa: D102
        return children

    def list_more(self, children: list[Any]) -> list[Any]:  # noqa: D102
        items: list[Any] = children[0]
        items.append(children[2])
        return items

    def list_next(self, children: list[Any]) -> list[Any]:  # noqa: D102
        items: list[Any] = children[0]
        items.append(children[1])
        return items

    # ---- names

    def qualified_global(self, children: list[Any]) -> Qualified:  # noqa: D102
        colons, name = children
        return colons.start, True, [_part(name)]

    def qualified_pair(self, children: list[Any]) -> Qualified:  # noqa: D102
        first, _, second = children
        return first.start, False, [_part(first), _part(second)]

    def qualified_template(self, children: list[Any]) -> Qualified:  # noqa: D102
        name, (template_args, end) = children
        return name.start, False, [NamePart(name.text, name.start, end, template_args)]

    def qualified_more(self, children: list[Any]) -> Qualified:  # noqa: D102
        qualified: Qualified = children[0]
        qualified[2].append(_part(children[2]))
        return qualified

    def qualified_more_template(self, children: list[Any]) -> Qualified:  # noqa: D102
        qualified: Qualified = children[0]
        part = qualified[2][-1]
        part.template_args, part.end = children[1]
        return qualified

    # ---- types

    def template_args_empty(self, children: list[Any]) -> TemplateArgs:  # noqa: D102
        return (), children[1].end

    def template_args(self, children: list[Any]) -> TemplateArgs:  # noqa: D102
        return tuple(_template_arg(items) for items in children[1]), children[2].end

    def type_token(self, children: list[Any]) -> Token:  # noqa: D102
        token: Token = children[0]
        return token


# ---- precedence


#: Operands, operator tokens and casts (start and type). A "?" is followed by its middle operand and a ":".
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
    """The symbol of an operator: ``&&`` for ``and``."""
    text = operator.text
    return WORD_OPERATORS[text][1] if text[0].isalpha() else text


class _Pending:
    """An operator that awaits its right operand."""

    __slots__ = ("level", "operator", "then")

    def __init__(self, level: int, operator: Token | tuple[int, TypeName], then: Expr | None = None) -> None:
        self.level = level
        self.operator = operator
        self.then = then


def climb(chain: Chain, last: Expr) -> Expr:
    """Build the tree of a chain and its last operand."""
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
        # assignments and "?:" are right-associative, all others left-associative
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
        first = operands.pop()
        operands.append(Conditional(first.start, right.end, operator.start, first, waiting.then, right))
    else:
        first = operands.pop()
        operands.append(Binary(first.start, right.end, spelling(operator), operator.start, first, right))
