"""The tokens of a formula, which cover its whole text with blanks and comments; its syntax errors."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from derivlint.formula.parsing.parse_table import formula_table
from derivlint.formula.vocabulary import (
    BAD,
    KEYWORD,
    SEMICOLON,
    SPECIAL_WORDS,
    STATEMENT_WORDS,
    UNCLOSED_COMMENT,
    UNCLOSED_STRING,
    WORD_OPERATORS,
    Token,
)


def tokens(text: str) -> list[Token]:
    """All tokens of a text, in order and without gaps; never raises."""
    # vectorized with map: a loop took half of a formula's parsing time
    table = formula_table()
    words = table.words(text)
    if words and table.terminals.match(words[-1]) is None:
        return _with_unmatched(text)
    ends = [*accumulate(map(len, words))]
    return [*map(Token, map(_kind, words), words, (0, *ends), ends)]


@lru_cache(maxsize=2048)
def _kind(word: str) -> str:
    """The token type of a text, regardless of context."""
    match = formula_table().terminals.match(word)
    kind = match.lastgroup or BAD if match is not None else BAD
    if kind == "IDENT":
        if word in SPECIAL_WORDS:
            return KEYWORD if word in STATEMENT_WORDS else WORD_OPERATORS[word][0]
        if not word.isascii() and not word.isidentifier():
            return BAD
    return kind


def _with_unmatched(text: str) -> list[Token]:
    """The tokens of a text that has unmatched characters."""
    matched: list[Token] = []
    scan = formula_table().terminals.match
    position = 0
    while position < len(text):
        match = scan(text, position)
        token = _unmatched(text, position) if match is None else Token(_kind(match[0]), match[0], *match.span())
        matched.append(token)
        position = token.end
    return matched


_REST_OF_LINE = re.compile(r"[^\n]*")
_WORD = re.compile(r"\w+")


def _unmatched(text: str, position: int) -> Token:
    char = text[position]
    if text.startswith("/*", position):
        return Token(UNCLOSED_COMMENT, text[position:], position, len(text))
    if char in "\"'":
        rest = _REST_OF_LINE.match(text, position)
        end = rest.end() if rest is not None else len(text)
        return Token(UNCLOSED_STRING, text[position:end], position, end)
    if char == ";":
        return Token(SEMICOLON, char, position, position + 1)
    word = _WORD.match(text, position)
    end = word.end() if word is not None else position + 1
    return Token(BAD, text[position:end], position, end)


class SyntaxProblemKind(Enum):
    """The kinds of syntax errors of a formula."""

    #: a token that does not fit where it is
    UNEXPECTED = "unexpected"
    #: a statement or a declaration, not an expression
    STATEMENT = "statement"
    MISSING_OPERAND = "missing-operand"
    STRAY_COMMA = "stray-comma"
    #: ":" without "?"
    MISSING_QUESTION = "missing-question"
    #: "?" without ":"
    MISSING_COLON = "missing-colon"
    #: two operands side by side
    MISSING_OPERATOR = "missing-operator"
    TOO_LARGE = "too-large"
    TOO_DEEP = "too-deep"
    UNCLOSED_BRACKET = "unclosed-bracket"
    UNMATCHED_BRACKET = "unmatched-bracket"
    MISMATCHED_BRACKET = "mismatched-bracket"
    #: a comma operator, which discards its left operand
    COMMA_OPERATOR = "comma-operator"
    TRAILING_SEMICOLON = "trailing-semicolon"
    EMPTY = "empty"
    LINE_COMMENT = "line-comment"
    UNCLOSED_COMMENT = "unclosed-comment"
    UNCLOSED_STRING = "unclosed-string"
    BAD_NUMBER = "bad-number"
    BAD_CHARACTER = "bad-character"


class SyntaxProblem(NamedTuple):
    """A syntax error.

    Attributes:
        kind: the kind of error.
        message: a one-line message.
        start: the start of the offending text.
        end: its end.
        help: the remedy, or None.
        related: related ranges: message, start and end.
    """

    kind: SyntaxProblemKind
    message: str
    start: int
    end: int
    help: str | None = None
    related: tuple[tuple[str, int, int], ...] = ()
