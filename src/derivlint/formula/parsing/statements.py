"""Parse the bodies of C++ functions with the grammar in ``grammar/statements.lark``.

A statement outside the grammar becomes an unknown statement that extends to its semicolon or closing brace. No text
raises an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from derivlint.formula.nodes import (
    MAX_DEPTH,
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
    Name,
    ReturnStatement,
    Statement,
    UnknownStatement,
    depth,
)
from derivlint.formula.parsing.angles import mark_angles, mark_casts
from derivlint.formula.parsing.builder import TreeBuilder, simple_name
from derivlint.formula.parsing.lambdas import mark_lambdas, partners
from derivlint.formula.parsing.parse_table import ParseTable, described
from derivlint.formula.vocabulary import DECLARATORS, KEYWORD, SEMICOLON, Token
from derivlint.grammar import grammar_text

#: Keywords that begin a statement.
_WORDS = {
    "return": "RETURN",
    "break": "JUMP",
    "continue": "JUMP",
    "if": "IF",
    "else": "ELSE",
    "for": "FOR",
    "while": "WHILE",
}
#: The maximum number of tokens of a body; PyTorch's longest has about 3,000.
MAX_TOKENS = 30_000
#: The maximum nesting of braces: a nested lambda is parsed once more for each lambda around it.
MAX_BRACES = 40
#: The maximum number of unknown statements in a body; each costs another parse of the body.
MAX_UNKNOWN = 12
_AFTER_DECLARED = frozenset({"=", ";", "(", "{", ",", ":"})
_MODIFIERS = frozenset({"const", "constexpr", "static", "volatile"})


def statement_grammar() -> str:
    """The grammar of statements, including that of expressions."""
    return f"{grammar_text('statements')}\n{grammar_text('formula')}"


@cache
def _table() -> ParseTable:
    builder = StatementBuilder(_body)
    return ParseTable(described("statements", statement_grammar(), builder, "function"), builder)


def parse_body(tokens: list[Token], start: int, end: int) -> Block:
    """Parse a body from its tokens, without blanks, comments and its own braces.

    Args:
        tokens: the tokens.
        start: the start offset of the body.
        end: its end offset.
    """
    if len(tokens) > MAX_TOKENS or _braces(tokens) > MAX_BRACES:
        return Block(start, end, (UnknownStatement(start, end, (), True),))
    return _body(mark_casts(mark_angles(_with_declarations(tokens))), start, end)


def _braces(tokens: list[Token]) -> int:
    """The maximum nesting of braces."""
    nested = deepest = 0
    for token in tokens:
        nested += (token.type == "LBRACE") - (token.type == "RBRACE")
        deepest = max(deepest, nested)
    return deepest


def _body(tokens: list[Token], start: int, end: int) -> Block:
    """Parse tokens in which declarations and angle brackets are marked, but no lambdas."""
    if not tokens:
        return Block(start, end, ())
    fed, _ = mark_lambdas(tokens)
    outline = _Outline(fed)
    fed, ends = outline.outlined()
    for _ in range(MAX_UNKNOWN if outline.deepest <= MAX_DEPTH else 0):
        statements, culprit = _table().parse(fed)
        if culprit is None:
            block = Block(start, end, tuple(statements))
            if len(fed) > MAX_DEPTH and depth(block) > MAX_DEPTH:
                break
            return block
        fed, ends = _without_statement(fed, ends, culprit)
    return Block(start, end, (_unknown(tokens),))


def _unknown(tokens: list[Token]) -> UnknownStatement:
    names, may_return = _content(tokens)
    return UnknownStatement(tokens[0].start, tokens[-1].end, names, may_return)


def _content(tokens: list[Token]) -> tuple[tuple[Name, ...], bool]:
    """The identifiers among tokens, and whether there is a ``return``."""
    names: list[Name] = []
    returns = False
    for token in tokens:
        if token.type == "IDENT":
            names.append(simple_name(token))
        elif token.type == "DECLARE":
            names.extend(token.info.names)  # type: ignore[attr-defined]  # it is what was declared
        elif token.type in ("LAMBDA", "LAMBDA_RETURN"):
            names.extend(map(simple_name, token.info.uses))  # type: ignore[attr-defined]  # what is known of a lambda
        returns = returns or token.text == "return"
    return tuple(names), returns


def _unknown_token(tokens: list[Token]) -> Token:
    return Token("UNKNOWN", "", tokens[0].start, tokens[-1].end, _content(tokens))


def _without_statement(fed: list[Token], ends: dict[int, int], culprit: Token) -> tuple[list[Token], dict[int, int]]:
    """Replace the innermost statement around a token by an unknown one; return the tokens and the statement ends."""
    at = next((index for index, token in enumerate(fed) if token is culprit), len(fed) - 1)
    first = max((begin for begin, end in ends.items() if begin <= at < end), default=0)
    after = ends.get(first, len(fed))
    if fed[first].type == "UNKNOWN":
        # that statement is already replaced: replace the whole body
        first, after = 0, len(fed)
    removed = after - first - 1
    moved = {
        begin if begin <= first else begin - removed: end if end <= first else end - removed
        for begin, end in ends.items()
        if begin <= first or begin >= after
    }
    return [*fed[:first], _unknown_token(fed[first:after]), *fed[after:]], moved | {first: first + 1}


class _Outline:
    """Finds statement boundaries, and marks the keywords that begin statements."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.partner = partners(tokens)
        self.out: list[Token] = []
        self.ends: dict[int, int] = {}
        self._nested = 0
        self.deepest = 0

    def outlined(self) -> tuple[list[Token], dict[int, int]]:
        """The tokens with statement keywords marked, and the end index of each statement by its start index."""
        index = 0
        while index < len(self.tokens):
            index = self._statement(index)
        return self.out, self.ends

    def _type(self, index: int) -> str:
        return self.tokens[index].type if index < len(self.tokens) else ""

    def _text(self, index: int) -> str:
        return self.tokens[index].text if index < len(self.tokens) else ""

    def _copy(self, first: int, after: int) -> int:
        self.out += self.tokens[first:after]
        return min(after, len(self.tokens))

    def _statement(self, index: int) -> int:
        """Copy one statement; return the index after it, or the end if statements are nested too deeply."""
        begin = len(self.out)
        self._nested += 1
        self.deepest = max(self.deepest, self._nested)
        index = self._passed(index) if self.deepest <= MAX_DEPTH else len(self.tokens)
        self._nested -= 1
        self.ends[begin] = len(self.out)
        return index

    def _passed(self, index: int) -> int:
        token = self.tokens[index]
        if token.type == "LBRACE":
            closing = self.partner.get(index, len(self.tokens) - 1)
            index = self._copy(index, index + 1)
            while index < closing:
                index = self._statement(index)
            return self._copy(index, max(index, closing + 1))
        if token.type != KEYWORD:
            return self._simple(index)
        if token.text in ("if", "for", "while") and self._type(index + 1) == "LPAR":
            return self._construct(index)
        if token.text in ("return", "break", "continue"):
            self._word(index)
            return self._simple(index + 1)
        return self._unknown(index)

    def _word(self, index: int) -> None:
        token = self.tokens[index]
        self.out.append(Token(_WORDS[token.text], token.text, token.start, token.end))

    def _construct(self, index: int) -> int:
        is_if = self.tokens[index].text == "if"
        self._word(index)
        index = self._copy(index + 1, self.partner.get(index + 1, len(self.tokens) - 1) + 1)
        if index < len(self.tokens):
            index = self._statement(index)
        if is_if and self._text(index) == "else":
            self._word(index)
            index += 1
            if index < len(self.tokens):
                index = self._statement(index)
        return index

    def _simple(self, index: int) -> int:
        """Copy a statement up to its semicolon; insert one after a macro call without it."""
        first = index
        assigns = False
        while index < len(self.tokens) and self.tokens[index].type != SEMICOLON:
            token = self.tokens[index]
            if token.type == "RBRACE":
                break
            after = self.partner.get(index, index) + 1
            self.out += self.tokens[index:after]
            if token.text == "=" and not assigns and index > first:
                assigns = True
                self.out[-1] = Token("ASSIGN", token.text, token.start, token.end)
            if index == first + 1 and token.type == "LPAR" and self._is_bare_macro(first, after):
                end = self.tokens[after - 1].end
                self.out.append(Token(SEMICOLON, ";", end, end))
                return after
            index = after
        # pass an unmatched brace on for the parser to reject
        return self._copy(index, index + 1) if self._type(index) == SEMICOLON or index == first else index

    def _is_bare_macro(self, first: int, after: int) -> bool:
        return _is_macro(self.tokens, first) and self._type(after) in (
            "IDENT",
            "DECLARE",
            KEYWORD,
            "LBRACE",
            "RBRACE",
            "",
        )

    def _unknown(self, index: int) -> int:
        """Copy a statement that the grammar lacks, up to its semicolon or its last block."""
        first = index
        while index < len(self.tokens):
            kind = self._type(index)
            if kind == SEMICOLON:
                index += 1
                break
            if kind == "RBRACE":
                break
            index = self.partner.get(index, index) + 1
            if kind == "LBRACE" and self._text(index) not in ("catch", "while", ";"):
                break
        index = max(index, first + 1)
        self.out.append(_unknown_token(self.tokens[first:index]))
        return index


# ---- declarations


def _is_macro(tokens: list[Token], index: int) -> bool:
    """Whether a macro call starts at an index, judging by its name."""
    following = tokens[index + 1].type if index + 1 < len(tokens) else ""
    return tokens[index].type == "IDENT" and tokens[index].text.isupper() and following == "LPAR"


def _with_declarations(tokens: list[Token]) -> list[Token]:
    """Join each declarator such as ``const auto& x`` at the start of a statement into one token."""
    marked: list[Token] = []
    partner = partners(tokens)
    index = 0
    begins = True
    #: the type of the current declaration, if any
    type_words: tuple[str, ...] | None = None
    nested = 0
    after_macro = -1
    while index < len(tokens):
        token = tokens[index]
        declared = _declared(tokens, index, partner) if begins else None
        if declared is not None:
            made, index = declared
            marked.append(Token("DECLARE", "", made.start, made.end, made))
            if index < len(tokens) and tokens[index].text == "=":
                marked.append(Token("ASSIGN", "=", tokens[index].start, tokens[index].end))
                index += 1
            type_words, nested, begins = made.type_words, index, False
            continue
        following = _next_declared(tokens, index) if type_words is not None and token.type == "COMMA" else None
        if following is not None and type_words is not None and _is_outermost(nested, index, partner):
            name, after = following
            marked.append(token)
            marked.append(
                Token(
                    "DECLARE",
                    "",
                    name.start,
                    name.end,
                    Declared(name.start, name.end, (name,), type_words, False, False),
                )
            )
            if tokens[after].text == "=":
                marked.append(Token("ASSIGN", "=", tokens[after].start, tokens[after].end))
                after += 1
            index = after
            continue
        if begins and _is_macro(tokens, index):
            after_macro = partner.get(index + 1, -1)
        if token.type == SEMICOLON:
            type_words = None
        begins = (
            token.type in (SEMICOLON, "LBRACE", "RBRACE")
            or index == after_macro
            or (token.type == "LPAR" and index > 0 and tokens[index - 1].text == "for")
        )
        marked.append(token)
        index += 1
    return marked


def _is_outermost(begin: int, index: int, partner: dict[int, int]) -> bool:
    """Whether every bracket opened since ``begin`` is closed at ``index``."""
    while begin < index:
        begin = partner.get(begin, begin) + 1
    return begin == index


def _next_declared(tokens: list[Token], index: int) -> tuple[Name, int] | None:
    """The variable after a comma in a declaration (``b`` of ``Tensor a, b = x;``), and the index after it."""
    if (
        index + 2 < len(tokens)
        and tokens[index + 1].type == "IDENT"
        and tokens[index + 2].text in _AFTER_DECLARED - {":"}
    ):
        return simple_name(tokens[index + 1]), index + 2
    return None


def _declared(tokens: list[Token], index: int, partner: dict[int, int]) -> tuple[Declared, int] | None:
    """The declaration that starts at an index and the index after it, or None."""
    if tokens[index].type == "LSQB" and tokens[index + 1 : index + 2] and tokens[index + 1].type == "LSQB":
        # an attribute: "[[maybe_unused]]"
        index = partner.get(index, index) + 1
    first = index
    words: list[str] = []
    pointer = False
    while index < len(tokens):
        token = tokens[index]
        if token.type == "IDENT":
            words.append(token.text)
            index += 1
        elif token.text == "<" and index > first and tokens[index - 1].type == "IDENT":
            closing = _after_angles(tokens, index)
            if closing is None:
                return None
            index = closing
        elif words and token.text in DECLARATORS:
            pointer = True
            index += 1
        elif token.type == "SCOPE":
            index += 1
        else:
            break
    if index >= len(tokens) or not words:
        return None
    start = tokens[first].start
    following = tokens[index]
    if following.type == "LSQB" and words[-1] == "auto" and index in partner:
        names = tuple(simple_name(token) for token in tokens[index + 1 : partner[index]] if token.type == "IDENT")
        end = tokens[partner[index]].end
        return Declared(start, end, names, tuple(words), True, pointer), partner[index] + 1
    name, before = tokens[index - 1], tokens[index - 2] if index - first > 1 else None
    if name.type != "IDENT" or before is None or before.type == "SCOPE" or following.text not in _AFTER_DECLARED:
        return None
    types = tuple(words[:-1])
    if not set(types) - _MODIFIERS:
        return None
    return Declared(start, name.end, (simple_name(name),), types, False, pointer), index


def _after_angles(tokens: list[Token], index: int) -> int | None:
    """The index after the ``>`` that closes a ``<`` in a type, or None."""
    open_angles = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text == "<":
            open_angles += 1
        elif token.text in (">", ">>"):
            open_angles -= len(token.text)
            if open_angles <= 0:
                return index + 1
        elif token.type not in ("IDENT", "SCOPE", "COMMA", "NUMBER", "LPAR", "RPAR") and token.text not in ("*", "&"):
            return None
        index += 1
    return None


# ---- the trees of statements


class StatementBuilder(TreeBuilder):
    """The callbacks of the statement parser."""

    def __init__(self, read_body: Callable[[list[Token], int, int], Block]) -> None:
        """Make a builder.

        Args:
            read_body: parses the body of a lambda, given its tokens and its start and end offsets.
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
