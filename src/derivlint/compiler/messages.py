"""Messages of g++ and Clang: ``file:line:column: text``, one a line."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

_MESSAGE = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:(?P<column>\d+):)? +(?P<text>.*)$", re.MULTILINE)


class CompilerMessage(Struct, frozen=True):
    """A message about a position.

    Attributes:
        file: the file, as the compiler names it.
        line: the line, from 1.
        column: the column, from 1; 1 if there is none.
        text: the message, with its kind: ``error: ...``, ``note: ...``.
    """

    file: str
    line: int
    column: int
    text: str

    @property
    def error(self) -> str | None:
        """The message without its kind, or None unless it is an error."""
        kind, _, text = self.text.partition(": ")
        return text if kind in ("error", "fatal error") else None

    @property
    def is_site_before(self) -> bool:
        """Whether g++ names the instantiation site of the template error that follows."""
        return self.text.startswith("required from ")

    @property
    def is_site_after(self) -> bool:
        """Whether Clang names the instantiation site of the template error before it."""
        return self.text.startswith("note: in instantiation of ") and self.text.endswith(" requested here")


def parse_message(line: str) -> CompilerMessage | None:
    """Parse a line of a compiler's output, or return None if it has no position."""
    match = _MESSAGE.match(line)
    if match is None:
        return None
    return CompilerMessage(match["file"], int(match["line"]), int(match["column"] or 1), match["text"])


def relocated(output: str, position: Callable[[str, int, int], str | None]) -> str:
    """Rewrite the positions in a compiler's output.

    Args:
        output: the output.
        position: maps a file, a line and a column to another position, or to None to keep it.
    """

    def rewritten(match: re.Match[str]) -> str:
        if match["column"] is None:
            return match[0]
        place = position(match["file"], int(match["line"]), int(match["column"]))
        return match[0] if place is None else place + match[0][match.end("column") - match.start() :]

    return _MESSAGE.sub(rewritten, output)
