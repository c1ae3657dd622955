"""The tokens of a formula, blanks and comments included; together they are the text, character by character."""

from __future__ import annotations

import re

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
    found: list[Token] = []
    scan = formula_table().terminals.match
    position = 0
    length = len(text)
    while position < length:
        match = scan(text, position)
        if match is None:
            token = _unmatched(text, position)
            end = token.end
        else:
            kind = match.lastgroup or BAD
            word = match[0]
            end = match.end()
            if kind == "IDENT":
                if word in SPECIAL_WORDS:
                    kind = KEYWORD if word in STATEMENT_WORDS else WORD_OPERATORS[word][0]
                elif not word.isascii() and not word.isidentifier():
                    kind = BAD
            token = Token(kind, word, position, end)
        found.append(token)
        position = end
    return found


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
