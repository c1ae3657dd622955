"""Common mistakes of authors: Python notation (``python.txt``), confused and forgotten names (``siblings.txt``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "python.txt"


@cache
def notations() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The C++ templates for Python notation by kind and name, best first."""
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in _FILE.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("# "):
            head, _, alternatives = line.partition(" = ")
            kind, _, name = head.partition(" ")
            table.setdefault(kind, {})[name] = tuple(alternatives.split(" | "))
    return table


@cache
def builtins() -> frozenset[str]:
    """Return the Python builtins with known equivalents for one or two arguments."""
    return frozenset(name for count in (1, 2) for name in notations()[f"builtin/{count}"])


_APPENDED, _APPENDED_TO_MASKS = "append:", "append-to-masks:"


@cache
def _lines() -> tuple[str, ...]:
    text = (Path(__file__).parent / "data" / "siblings.txt").read_text(encoding="ascii")
    return tuple(line for line in text.splitlines() if not line.startswith("#"))


@cache
def siblings(name: str) -> tuple[str, ...]:
    """The operators that an operator is confused with."""
    groups = (line.split() for line in _lines() if ":" not in line)
    return tuple(sibling for group in groups if name in group for sibling in group if sibling != name)


def forgotten_methods() -> tuple[str, ...]:
    """The methods without arguments that authors forget on tensors."""
    return _after(_APPENDED)


def truth_methods() -> tuple[str, ...]:
    """The methods that authors forget on masks."""
    return _after(_APPENDED_TO_MASKS)


def string_options(parameter: str) -> tuple[str, ...]:
    """The strings that a parameter of this name takes; empty where any is possible."""
    return _after(f"{parameter}:")


@cache
def _after(head: str) -> tuple[str, ...]:
    return tuple(next((line for line in _lines() if line.startswith(head)), "").split()[1:])
