"""Makes the syntax trees of statements: one method for each alias in ``grammar/statements.lark``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from derivlint.formula.nodes import (
    Binary,
    Block,
    Declaration,
    Declared,
    Empty,
    ExpressionStatement,
    If,
    Jump,
    Lambda,
    Loop,
    ReturnStatement,
    Statement,
    UnknownStatement,
)
from derivlint.formula.parsing.builder import TreeBuilder
from derivlint.formula.vocabulary import Token


class StatementBuilder(TreeBuilder):
    """The callbacks of the parser of statements."""

    def __init__(self, read_body: Callable[[list[Token], int, int], Block]) -> None:
        """Build trees.

        Args:
            read_body: reads the statements of a lambda: its tokens, where its body begins, where it ends.
        """
        self._read_body = read_body

    def lambda_opaque(self, children: list[Any]) -> Lambda:  # noqa: D102
        made = super().lambda_opaque(children)
        body: list[Token] = children[0].info.body
        start = body[0].start if body else made.end
        made.statements = self._read_body(body, start, body[-1].end if body else made.end)
        return made

    # ---- statements

    def function(self, children: list[Any]) -> list[Statement]:  # noqa: D102
        statements: list[Statement] = children[0]
        return statements

    def empty_statement(self, children: list[Any]) -> Statement:  # noqa: D102
        return Empty(children[0].start, children[0].end)

    def block_empty(self, children: list[Any]) -> Statement:  # noqa: D102
        return Block(children[0].start, children[-1].end, ())

    def block(self, children: list[Any]) -> Statement:  # noqa: D102
        return Block(children[0].start, children[-1].end, tuple(children[1]))

    def expression_statement(self, children: list[Any]) -> Statement:  # noqa: D102
        expression, semicolon = children
        return ExpressionStatement(expression.start, semicolon.end, expression)

    def assignment(self, children: list[Any]) -> Statement:  # noqa: D102
        target, operator, value, semicolon = children
        made = Binary(target.start, value.end, "=", operator.start, target, value)
        return ExpressionStatement(target.start, semicolon.end, made)

    def declaration_statement(self, children: list[Any]) -> Statement:  # noqa: D102
        declared, semicolon = children
        return Declaration(declared[0].start, semicolon.end, tuple(declared))

    def declared(self, children: list[Any]) -> Declared:  # noqa: D102
        made: Declared = children[0].info
        return made

    def declared_as(self, children: list[Any]) -> Declared:  # noqa: D102
        made: Declared = children[0].info
        made.value = children[2]
        made.end = children[2].end
        return made

    def declared_of(self, children: list[Any]) -> Declared:  # noqa: D102
        made: Declared = children[0].info
        made.arguments = tuple(children[2])
        made.end = children[3].end
        return made

    def declared_of_braces(self, children: list[Any]) -> Declared:  # noqa: D102
        made: Declared = children[0].info
        made.arguments = children[1].items
        made.end = children[1].end
        return made

    def return_nothing(self, children: list[Any]) -> Statement:  # noqa: D102
        return ReturnStatement(children[0].start, children[1].end, None)

    def return_value(self, children: list[Any]) -> Statement:  # noqa: D102
        return ReturnStatement(children[0].start, children[2].end, children[1])

    def jump(self, children: list[Any]) -> Statement:  # noqa: D102
        return Jump(children[0].start, children[1].end)

    def if_then(self, children: list[Any]) -> Statement:  # noqa: D102
        word, _, condition, _, then = children
        return If(word.start, then.end, condition, then, None)

    def if_else(self, children: list[Any]) -> Statement:  # noqa: D102
        word, _, condition, _, then, _, otherwise = children
        return If(word.start, otherwise.end, condition, then, otherwise)

    def while_loop(self, children: list[Any]) -> Statement:  # noqa: D102
        word, _, condition, _, body = children
        return Loop(word.start, body.end, None, None, None, condition, None, body)

    def range_loop(self, children: list[Any]) -> Statement:  # noqa: D102
        word, _, variable, _, over, _, body = children
        return Loop(word.start, body.end, None, variable.info, over, None, None, body)

    def for_loop(self, children: list[Any]) -> Statement:  # noqa: D102
        word, _, begin, condition, _, step, _, body = children
        return Loop(word.start, body.end, begin, None, None, condition, step, body)

    def unknown_statement(self, children: list[Any]) -> Statement:  # noqa: D102
        token = children[0]
        names, may_return = token.info
        return UnknownStatement(token.start, token.end, names, may_return)
