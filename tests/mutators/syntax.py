"""Formulas as the mutators see them: their nodes, the text of each, and changes of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from derivlint.formula import Call, Member, Name, Node, walk
from derivlint.model import DerivativeFormula

N = TypeVar("N", bound=Node)
#: A change of a text: the range that is replaced, and by what.
Change = tuple[int, int, str]
#: Gives all changes of a kind that a formula can have.
FormulaSlip = Callable[[DerivativeFormula], Iterator[Change]]


def nodes(formula: DerivativeFormula, *types: type[N]) -> Iterator[N]:
    """The nodes of some types in a formula, none where it is not C++."""
    tree = formula.parsed.tree
    return (node for node in walk(tree) if isinstance(node, types)) if tree is not None else iter(())


def text_of(formula: DerivativeFormula, node: Node) -> str:
    """The text of a node."""
    return formula.parsed.text[node.start : node.end]


def names(formula: DerivativeFormula) -> Iterator[tuple[Name, str]]:
    """The names without a namespace."""
    return ((node, node.simple) for node in nodes(formula, Name) if node.simple is not None)


def callees(formula: DerivativeFormula) -> Iterator[tuple[int, int, str]]:
    """The names of called functions and methods, with their places."""
    for node in nodes(formula, Call):
        if isinstance(node.callee, Name):
            part = node.callee.parts[-1]
            yield part.start, part.end, part.identifier
        elif isinstance(node.callee, Member):
            yield node.callee.name_start, node.callee.name_end, node.callee.name


def methods(formula: DerivativeFormula, count: int) -> Iterator[tuple[Call, Member]]:
    """The calls of methods with a number of arguments."""
    for node in nodes(formula, Call):
        if isinstance(node.callee, Member) and len(node.args) == count:
            yield node, node.callee
