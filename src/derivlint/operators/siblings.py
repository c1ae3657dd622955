"""Operators that are taken for each other, and methods that are forgotten."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_APPENDED = "append:"


@cache
def _lines() -> tuple[str, ...]:
    text = (Path(__file__).parent / "data" / "siblings.txt").read_text(encoding="ascii")
    return tuple(line for line in text.splitlines() if not line.startswith("#"))


@cache
def siblings(name: str) -> tuple[str, ...]:
    """The operators that an operator is taken for."""
    groups = (line.split() for line in _lines())
    return tuple(sibling for group in groups if name in group for sibling in group if sibling != name)


@cache
def forgotten_methods() -> tuple[str, ...]:
    """The methods without arguments that are forgotten."""
    return tuple(next(line for line in _lines() if line.startswith(_APPENDED)).split()[1:])
