"""Lines of text with the styles that a terminal shows them in."""

from __future__ import annotations

from msgspec import Struct

from derivlint.lint import Severity
from derivlint.source import visible_line


class Piece(Struct, frozen=True):
    """A run of text.

    Attributes:
        text: the text.
        style: the style that a terminal shows it in; empty for plain.
        link: the page that a terminal opens from it; empty for none.
    """

    text: str
    style: str = ""
    link: str = ""


Line = list[Piece]
STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}


def plain(line: Line) -> str:
    """A line without styles, made visible."""
    return visible_line("".join(piece.text for piece in line))


def harmless(line: Line) -> Line:
    """The line, without its styles where what is in it has to be escaped."""
    text = "".join(piece.text for piece in line)
    shown = visible_line(text)
    return line if shown == text else [Piece(shown)]
