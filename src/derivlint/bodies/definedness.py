"""The parameters that a body reads although they may be undefined."""

from __future__ import annotations

from collections.abc import Iterator

from derivlint.formula import Binary, Call, Conditional, Expr, Lambda, Member, Name, Node, Unary, walk
from derivlint.formula.nodes import Block, Declaration, ExpressionStatement, ReturnStatement, Statement
from derivlint.operators.special import METADATA_MEMBERS

_ARITHMETIC = frozenset({"+", "-", "*", "/"})


def unguarded_parameters(body: Block, tensors: frozenset[str]) -> frozenset[str]:
    """Return the tensors that a body reads on every path and never tests.

    Any test of a tensor may be a guard: ``x.defined()``, ``f(x)`` in a condition. A parameter that is assigned has
    another value later.
    """
    names: set[str] = set()
    for statement in body.statements:
        if not isinstance(statement, (Declaration, ExpressionStatement, ReturnStatement)):
            # what follows is reached in some cases only
            break
        names.update(_read(statement))
    if not names & tensors:
        return frozenset()
    return frozenset(names & tensors - set(_guarded(body)))


def _read(node: Node) -> Iterator[str]:
    """The names whose values operators and methods read, wherever nothing decides whether they do."""
    if isinstance(node, (Conditional, Lambda)):
        return
    if isinstance(node, Binary):
        if node.op in ("&&", "||"):
            return
        if node.op in _ARITHMETIC:
            yield from _name(node.left)
            yield from _name(node.right)
    elif isinstance(node, Unary) and node.op == "-":
        yield from _name(node.operand)
    elif isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name not in METADATA_MEMBERS:
        yield from _name(node.callee.object)
    for child in node.children:
        yield from _read(child)


def _name(node: Expr) -> Iterator[str]:
    if isinstance(node, Name) and node.simple is not None:
        yield node.simple


def _guarded(body: Statement) -> Iterator[str]:
    """Yield the names that are tested or assigned."""
    for node in walk(body):
        if isinstance(node, Call) and isinstance(node.callee, Member) and node.callee.name in METADATA_MEMBERS:
            yield from _name(node.callee.object)
        elif isinstance(node, Binary) and node.op == "=":
            yield from _name(node.left)
