"""Lexical helpers: the source text around an offset."""

from __future__ import annotations

import re
from functools import lru_cache

from derivlint.yaml_reader.decode import BREAKS

#: The maximum number of characters of user text in messages.
_SHOWN = 32


def quote(text: str) -> str:
    """Format the user's text for a message: in double quotes, on one line, shortened."""
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return '"' + "".join(char if char.isprintable() else _escaped(char) for char in shown) + '"'


def _escaped(char: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char) or f"U+{ord(char):04X}"


def skip_properties(text: str, start: int, end: int) -> int:
    """The start of the node after the anchor and tag at ``start``; ``end`` if nothing follows."""
    offset = start
    while True:
        match = _property().match(text, offset, end)
        if match is None:
            break
        offset = match.end()
    return offset


@lru_cache(maxsize=1)
def _property() -> re.Pattern[str]:
    blank = f" \\t{BREAKS}"
    # Anchors and tags have the characters of libyaml; a comment needs a blank before it.
    tag = r"!<[^>]*>|![0-9A-Za-z\-_;/?:@&=+$,.!~*'()\[\]%]*"
    return re.compile(rf"&[0-9A-Za-z_\-]+|{tag}|[{blank}]+(?:#[^{BREAKS}]*)?")


def token_end(text: str, start: int) -> int:
    """The end of the blank-free run of characters at ``start``, at least one character if any is left."""
    end = start
    while end < len(text) and text[end] not in " \t" + BREAKS:
        end += 1
    return max(end, min(start + 1, len(text)))


def line_start(text: str, offset: int) -> int:
    """The start of the line that holds ``offset``."""
    while offset > 0 and text[offset - 1] not in BREAKS:
        offset -= 1
    return offset


def line_end(text: str, offset: int) -> int:
    """The end of the line that holds ``offset``, before its line end."""
    while offset < len(text) and text[offset] not in BREAKS:
        offset += 1
    return offset
