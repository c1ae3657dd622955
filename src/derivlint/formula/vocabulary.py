"""Token kinds, the C++ words that are not names, and whole numbers."""

from __future__ import annotations

from msgspec import Struct


def words(text: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(text.split())


TRIVIA = frozenset({"WS", "LINE_COMMENT", "COMMENT"})
#: The terminal of text that matches no other terminal.
BAD = "BAD"
UNCLOSED_STRING = "UNCLOSED_STRING"
UNCLOSED_COMMENT = "UNCLOSED_COMMENT"
SEMICOLON = "SEMICOLON"
KEYWORD = "KEYWORD"

#: Operators spelled as words, with terminal and symbol.
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
#: Keywords of statements; "const", "unsigned" and the like are identifiers, since they are parts of types.
STATEMENT_WORDS = words(
    "return if else for while do switch case default break continue goto try catch throw using namespace typedef "
    "static_assert new delete co_return co_yield co_await"
)
#: The marks between a type and a declared name.
DECLARATORS = ("&", "&&", "*")
SPECIAL_WORDS = STATEMENT_WORDS | WORD_OPERATORS.keys()


class Token(Struct, eq=False):
    """A token: its terminal in the grammar, its text and its offsets.

    Attributes:
        type: the name of the terminal.
        text: the source text.
        start: the offset of its first character.
        end: the offset after its last character.
        info: the info about a lambda, set between lexer and parser.
    """

    type: str
    text: str
    start: int
    end: int
    info: object = None

    def __repr__(self) -> str:
        return f"Token({self.type}, {self.text!r}, {self.start}, {self.end})"


#: The cap of whole numbers: Python refuses to convert thousands of digits.
HUGE = 10**18


def whole_number(text: str) -> int | None:
    """Return the value of decimal ASCII digits, at most 10^18, or None for any other text.

    Args:
        text: the digits, without sign and suffix.
    """
    if not (text.isdecimal() and text.isascii()):
        return None
    digits = text.lstrip("0")
    return HUGE if len(digits) > 18 else int(digits or "0")
