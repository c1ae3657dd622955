"""Operators that are confused with each other, and commonly forgotten methods."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_APPENDED, _APPENDED_TO_MASKS = "append:", "append-to-masks:"


@cache
def _lines() -> tuple[str, ...]:
    text = (Path(__file__).parent / "data" / "siblings.txt").read_text(encoding="ascii")
    return tuple(line for line in text.splitlines() if not line.startswith("#"))


@cache
def siblings(name: str) -> tuple[str, ...]:
    """The operators with which an operator is confused."""
    groups = (line.split() for line in _lines())
    return tuple(sibling for group in groups if name in group for sibling in group if sibling != name)


def forgotten_methods() -> tuple[str, ...]:
    """The methods without arguments that are forgotten on tensors."""
    return _after(_APPENDED)


def truth_methods() -> tuple[str, ...]:
    """The methods that are forgotten on masks."""
    return _after(_APPENDED_TO_MASKS)


@cache
def _after(head: str) -> tuple[str, ...]:
    return tuple(next(line for line in _lines() if line.startswith(head)).split()[1:])
