"""The C++ equivalents of Python notation: ``data/python.txt``."""

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
