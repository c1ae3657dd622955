"""Syntax errors of formulas."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class SyntaxProblemKind(Enum):
    """A syntax error of a formula."""

    #: something that cannot be where it is
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
    #: a comma that throws a value away
    COMMA_OPERATOR = "comma-operator"
    TRAILING_SEMICOLON = "trailing-semicolon"
    EMPTY = "empty"
    LINE_COMMENT = "line-comment"
    UNCLOSED_COMMENT = "unclosed-comment"
    UNCLOSED_STRING = "unclosed-string"
    BAD_NUMBER = "bad-number"
    BAD_CHARACTER = "bad-character"


class SyntaxProblem(NamedTuple):
    """Why a text is not a formula.

    Attributes:
        kind: the kind of slip.
        message: one line that says what is wrong.
        start: where the offending text begins.
        end: where it ends.
        help: what to do about it, if that is known.
        related: other places that belong to it, each a message with start and end.
    """

    kind: SyntaxProblemKind
    message: str
    start: int
    end: int
    help: str | None = None
    related: tuple[tuple[str, int, int], ...] = ()
