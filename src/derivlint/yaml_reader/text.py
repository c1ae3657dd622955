"""Looking at the source around a place."""

from __future__ import annotations

import re
from functools import lru_cache

from derivlint.yaml_reader.decode import BREAKS

#: Longer text of the user is cut in messages.
_SHOWN = 32


def quote(text: str) -> str:
    """The user's text for a message: in double quotes, on one line, cut if long."""
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return '"' + "".join(char if char.isprintable() else _escaped(char) for char in shown) + '"'


def _escaped(char: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char) or f"U+{ord(char):04X}"


def skip_properties(text: str, start: int, end: int) -> int:
    """The place where the node after the anchor and the tag at ``start`` begins; ``end`` if nothing follows."""
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
    # The characters of anchors and tags are those of libyaml; a comment only counts after a blank.
    tag = r"!<[^>]*>|![0-9A-Za-z\-_;/?:@&=+$,.!~*'()\[\]%]*"
    return re.compile(rf"&[0-9A-Za-z_\-]+|{tag}|[{blank}]+(?:#[^{BREAKS}]*)?")


def token_end(text: str, start: int) -> int:
    """The end of the run of characters without blanks at ``start``, at least one character if there is any."""
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
