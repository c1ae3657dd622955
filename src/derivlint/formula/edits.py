"""Formulas as text: edits that preserve all other characters, and expressions with their precedence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from derivlint.formula.formula import Formula
from derivlint.formula.nodes import Node
from derivlint.formula.parsing.tokens import tokens


class Edit(NamedTuple):
    """A replacement of the range from ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits with offsets into the original text; insertions at the same offset keep their order.

    Raises:
        ValueError: two edits overlap, or one lies outside the text.
    """
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not position <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit of {edit.start}:{edit.end} overlaps another one or lies outside the text")
        pieces.append(text[position : edit.start])
        pieces.append(edit.text)
        position = edit.end
    pieces.append(text[position:])
    return "".join(pieces)


def render(formula: Formula, node: Node | None = None) -> str:
    """Render a node, or the whole formula, from its tokens, with blanks and comments."""
    start, end = (0, len(formula.text)) if node is None else (node.start, node.end)
    # the ">>" that closes nested template arguments is one token in the text but ends two nodes
    return "".join(
        token.text[max(0, start - token.start) : end - token.start]
        for token in tokens(formula.text)
        if token.start < end and token.end > start
    )


#: An expression, and the precedence of its outermost operator.
Text: TypeAlias = tuple[str, int]
CONDITIONAL, OR, AND, COMPARISON, SUM, PRODUCT, UNARY, ATOM = range(1, 9)
#: The precedence of binary operators; higher binds tighter. "==" and "<" count as equal.
BINARY = {
    "||": OR, "&&": AND, "==": COMPARISON, "!=": COMPARISON, "<": COMPARISON, "<=": COMPARISON, ">": COMPARISON,
    ">=": COMPARISON, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT,
}  # fmt: skip


def enclosed(text: Text, precedence: int) -> str:
    """Render an expression as an operand, in parentheses if it binds less tightly than ``precedence``."""
    return text[0] if text[1] >= precedence else f"({text[0]})"
