"""Inputs of operators, written by hand as expressions, or those of another operator; ``data/inputs.txt``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "inputs.txt"
_LIKE = " like "


def _blocks() -> Iterator[tuple[str, list[str]]]:
    """The lines without indentation, each with those below it."""
    lines: list[str] = []
    head = ""
    for line in _FILE.read_text(encoding="ascii").splitlines():
        if line.startswith(" "):
            lines.append(line.strip())
        elif line and not line.startswith("#"):
            if head:
                yield head, lines
            head, lines = line, []
    yield head, lines


@cache
def input_expressions() -> Mapping[str, Mapping[str, str]]:
    """For each operator with a recipe, by full name, the expression of each argument.

    Raises:
        ValueError: an operator has two recipes.
    """
    expressions: dict[str, dict[str, str]] = {}
    for head, lines in _blocks():
        arguments = dict(part.split(" = ", 1) for line in lines for part in line.split("; "))
        for name in head.split(", ") if arguments else ():
            if name in expressions:
                raise ValueError(f'"{name}" has two recipes')
            expressions[name] = arguments
    return expressions


@cache
def operators_with_like_inputs() -> Mapping[str, str]:
    """The operators that take the inputs of another one, by full names."""
    pairs = (head.split(_LIKE) for head, _ in _blocks() if _LIKE in head)
    return {name: equal_operator for names, equal_operator in pairs for name in names.split(", ")}
