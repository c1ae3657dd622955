"""The C++ equivalents of Python notation: ``data/python.txt``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "python.txt"


@cache
def notations() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """By the kind of a part and by its name, the templates of what C++ writes, best first."""
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in _FILE.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("# "):
            head, _, alternatives = line.partition(" = ")
            kind, _, name = head.partition(" ")
            table.setdefault(kind, {})[name] = tuple(alternatives.split(" | "))
    return table


@cache
def builtins() -> frozenset[str]:
    """Return the functions of Python that are known with one or two arguments."""
    return frozenset(name for count in (1, 2) for name in notations()[f"builtin/{count}"])
