"""Lines of text with the styles and links that a terminal shows them with, and the pages that are linked to."""

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


#: The page of the project.
HOME = "https://github.com/derivlint/derivlint"
#: Where the pages of the rules are; a page keeps its address as long as the rule has its name.
RULE_PAGES = f"{HOME}/blob/main/docs/rules"
#: What running formulas finds, which has a page in common.
NUMERIC_PAGE = f"{HOME}/blob/main/docs/guides/verify.md"
#: Findings that come from no rule: from derivlint itself, and from the compiler.
WITHOUT_PAGE = frozenset({"internal-error", "compiler-error"})


def rule_url(name: str) -> str:
    """The page of a rule; of a finding that comes from no rule, the page that explains it or that of the project."""
    from derivlint.rules import NUMERIC

    if name in NUMERIC:
        return NUMERIC_PAGE
    return HOME if name in WITHOUT_PAGE else f"{RULE_PAGES}/{name}.md"
