"""Errors in the text of a schema."""

from __future__ import annotations

from msgspec import Struct

#: The longest quotation of user text in messages.
MAX_QUOTED = 40


def quoted(text: str) -> str:
    """The user's text in double quotes, truncated if it is long."""
    return f'"{text}"' if len(text) <= MAX_QUOTED else f'"{text[: MAX_QUOTED - 3]}..."'


class SchemaMistake(Struct, frozen=True):
    """The error in a schema.

    Attributes:
        message: the fact, one line.
        start: the offset of the offending text in the schema.
        end: the offset after it; equal to ``start`` at the end of the text.
        help: how to write it, or None.
    """

    message: str
    start: int
    end: int
    help: str | None = None


class SchemaError(Exception):
    """The schema cannot be parsed.

    Attributes:
        mistake: the error; unlike the exception it holds no frames, so it can be stored.
    """

    def __init__(self, message: str, start: int, end: int, help: str | None = None) -> None:
        super().__init__(message)
        self.mistake = SchemaMistake(message, start, end, help)
