"""Expressions as they are written: the text, and the precedence of its outermost operator."""

from __future__ import annotations

from typing import TypeAlias

#: An expression, and the precedence of its outermost operator.
Text: TypeAlias = tuple[str, int]
CONDITIONAL, OR, AND, COMPARISON, SUM, PRODUCT, UNARY, ATOM = range(1, 9)
#: The precedence of the operators of two operands that formulas are written with, where "==" and "<" are alike.
BINARY = {
    "||": OR, "&&": AND, "==": COMPARISON, "!=": COMPARISON, "<": COMPARISON, "<=": COMPARISON, ">": COMPARISON,
    ">=": COMPARISON, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT,
}  # fmt: skip


def enclosed(text: Text, precedence: int) -> str:
    """An expression as an operand, in parentheses where it would be taken apart."""
    return text[0] if text[1] >= precedence else f"({text[0]})"
