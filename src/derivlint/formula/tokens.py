"""The tokens of a formula, blanks and comments included; together they are the text, character by character."""

from __future__ import annotations

import re

from derivlint.formula.grammar_tables import terminals_pattern


def words(text: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(text.split())


TRIVIA = frozenset({"WS", "LINE_COMMENT", "COMMENT"})
#: Tokens that no expression contains, made for what no terminal matches.
BAD = "BAD"
UNCLOSED_STRING = "UNCLOSED_STRING"
UNCLOSED_COMMENT = "UNCLOSED_COMMENT"
SEMICOLON = "SEMICOLON"
KEYWORD = "KEYWORD"

#: Operators that are spelled with letters, as their terminal and their usual spelling.
WORD_OPERATORS = {
    "and": ("BINARY", "&&"),
    "or": ("BINARY", "||"),
    "xor": ("BINARY", "^"),
    "bitand": ("BOTH", "&"),
    "bitor": ("BINARY", "|"),
    "not_eq": ("BINARY", "!="),
    "and_eq": ("BINARY", "&="),
    "or_eq": ("BINARY", "|="),
    "xor_eq": ("BINARY", "^="),
    "not": ("PREFIX", "!"),
    "compl": ("PREFIX", "~"),
}
#: Words that only statements contain; "const", "unsigned" and the like stay identifiers, since types consist of them.
STATEMENT_WORDS = words(
    "return if else for while do switch case default break continue goto try catch throw using namespace typedef "
    "static_assert new delete co_return co_yield co_await"
)
_SPECIAL_WORDS = STATEMENT_WORDS | WORD_OPERATORS.keys()


class Token:
    """A token: its terminal in the grammar, its text and its place.

    Attributes:
        type: the name of the terminal.
        text: the source text.
        start: the offset of its first character.
        end: the offset behind its last character.
        info: what the pass between lexer and parser knows about a lambda.
    """

    __slots__ = ("end", "info", "start", "text", "type")

    def __init__(self, type: str, text: str, start: int, end: int, info: object = None) -> None:
        self.type = type
        self.text = text
        self.start = start
        self.end = end
        self.info = info

    def __repr__(self) -> str:
        return f"Token({self.type}, {self.text!r}, {self.start}, {self.end})"


def tokens(text: str) -> list[Token]:
    """All tokens of a text, in order and without gaps; never raises."""
    found: list[Token] = []
    scan = terminals_pattern().match
    position = 0
    length = len(text)
    while position < length:
        match = scan(text, position)
        if match is None:
            token = _unmatched(text, position)
        else:
            kind = match.lastgroup or BAD
            token = Token(kind, match[0], position, match.end())
            if kind == "IDENT":
                word = token.text
                if word in _SPECIAL_WORDS:
                    token.type = KEYWORD if word in STATEMENT_WORDS else WORD_OPERATORS[word][0]
                elif not word.isascii() and not word.isidentifier():
                    token.type = BAD
        found.append(token)
        position = token.end
    return found


def significant_tokens(text: str) -> list[Token]:
    """The tokens of a text without blanks and comments."""
    return [token for token in tokens(text) if token.type not in TRIVIA]


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
