"""Statements of Python, broken where they are too long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from derivlint.emit.python.wrapping import WIDTH, assignment


def indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    """Lines further to the right; empty lines stay empty."""
    return [f"{'    ' * depth}{line}" if line else "" for line in lines]


def listed(head: str, items: Sequence[str], tail: str, *, depth: int) -> list[str]:
    """``head``, items and ``tail`` on one line, or one item to a line where that is too long.

    Args:
        head: what ends with the opening bracket.
        items: the items.
        tail: what begins with the closing bracket.
        depth: how deep the statement stands.
    """
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) + 4 * depth <= WIDTH or not items:
        return [line]
    inner = ", ".join(items)
    # the magic comma is not put after what cannot be followed by one
    if len(inner) + 4 * (depth + 1) <= WIDTH:
        return [head, f"    {inner}", tail]
    return [head, *(f"    {item}," for item in items), tail]


def assigned(target: str, value: str, *, depth: int) -> list[str]:
    """The assignment of an expression, broken where it is too long."""
    return assignment(target, value, 4 * depth)


def return_statement(values: Sequence[str], *, depth: int) -> list[str]:
    """The return of one value or of a tuple, one value to a line where that is too long."""
    if len(values) == 1:
        return [f"return ({values[0]},)" if values[0].startswith("*") else f"return {values[0]}"]
    line = f"return {', '.join(values)}"
    if len(line) + 4 * depth <= WIDTH:
        return [line]
    return ["return (", *(f"    {value}," for value in values), ")"]


def unpacked(names: Sequence[str], value: str, *, depth: int) -> list[str]:
    """The assignment of a tuple to names."""
    if len(names) == 1:
        return [f"({names[0]},) = {value}"]
    line = f"{', '.join(names)} = {value}"
    if len(line) + 4 * depth <= WIDTH:
        return [line]
    return ["(", *(f"    {name}," for name in names), f") = {value}"]
