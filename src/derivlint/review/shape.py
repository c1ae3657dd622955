"""The layout-independent form of a formula: formulas are equal if their syntax trees are."""

from __future__ import annotations

from collections.abc import Hashable

from derivlint.formula import Formula, Lambda, Node, Parenthesized, parse_formula, tokens
from derivlint.formula.nodes import NamePart
from derivlint.formula.vocabulary import TRIVIA

#: The fields of nodes that say where they are.
_PLACES = ("start", "end", "question")


def shape_of_text(text: str) -> Hashable:
    """Return the tree without spans and parentheses, or the tokens if the tree is incomplete."""
    formula = parse_formula(text)
    tree = formula.tree
    if tree is None or any(isinstance(node, Lambda) for node in formula.nodes):
        return _tokens(formula)
    return _shape(tree)


def _tokens(formula: Formula) -> Hashable:
    return tuple(token.text for token in tokens(formula.text) if token.type not in TRIVIA)


def _shape(part: object) -> Hashable:
    if isinstance(part, Parenthesized):
        return _shape(part.inner)
    if isinstance(part, Node | NamePart):
        fields = (_shape(getattr(part, name)) for name in part.__struct_fields__ if not name.endswith(_PLACES))
        return (type(part).__name__, *fields)
    if isinstance(part, tuple):
        return tuple(map(_shape, part))
    assert isinstance(part, Hashable)
    return part
