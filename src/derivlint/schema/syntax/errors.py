"""Errors in the text of a schema."""

from __future__ import annotations

from msgspec import Struct

#: Messages quote no more of the user's text than this.
MAX_QUOTED = 40


def quoted(text: str) -> str:
    """The user's text in double quotes, cut when it is long."""
    return f'"{text}"' if len(text) <= MAX_QUOTED else f'"{text[: MAX_QUOTED - 3]}..."'


class SchemaMistake(Struct, frozen=True):
    """The error in a schema.

    Attributes:
        message: what is wrong, one line.
        start: where the offending text begins, as an offset into the schema's text.
        end: where it ends (exclusive); equal to ``start`` at the end of the text.
        help: how to write it, or None.
    """

    message: str
    start: int
    end: int
    help: str | None = None


class SchemaError(Exception):
    """A schema that cannot be read.

    Attributes:
        mistake: what is wrong with it; unlike the exception it holds no frames, and may be kept.
    """

    def __init__(self, message: str, start: int, end: int, help: str | None = None) -> None:
        super().__init__(message)
        self.mistake = SchemaMistake(message, start, end, help)
