"""An LALR table as it is written to a file, and how it knows its grammar."""

from __future__ import annotations

import zlib
from typing import TypedDict


class Description(TypedDict):
    """A table as it is written to a file.

    Attributes:
        grammar: the checksum of the grammar.
        terminals: the terminals that are matched in the text, in the order in which they are tried: name and pattern.
        rules: for each rule the symbol that it is for, how many symbols it consists of, and the method of the tree
            builder that makes its value; empty if the value is that of the one symbol.
        rows: for each state of the parser what each symbol means in it: the next state, or, as ``-1 - n``, that the
            rule ``n`` is complete. The first row is the state at the start.
        end: the state at the end.
    """

    grammar: int
    terminals: list[tuple[str, str]]
    rules: list[tuple[str, int, str]]
    rows: list[dict[str, int]]
    end: int


def checksum(grammar: str) -> int:
    """The checksum by which a table knows its grammar."""
    return zlib.crc32(grammar.encode())
