"""Mutants of a module: small mistakes, each made at one place of its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
}
#: Fields that nothing runs: annotations are not evaluated, and decorators name what a function is.
_UNRUN = ("annotation", "returns", "decorator_list", "type_params")


#: The fields that lead from a module to a node, with the place in a list.
_Path = tuple[tuple[str, int | None], ...]


@dataclass(frozen=True)
class Mutant:
    """One mistake: the module, the fields that lead to the node, the node there, and what it becomes."""

    module: ast.Module
    path: _Path
    node: ast.expr | ast.stmt
    changed: ast.expr | ast.stmt

    @property
    def lines(self) -> range:
        """The lines of the node, from 1."""
        return range(self.node.lineno, (self.node.end_lineno or self.node.lineno) + 1)

    def __str__(self) -> str:
        before, after = (ast.unparse(each).partition("\n")[0] for each in (self.node, self.changed))
        return f"{before}  ->  {after}"

    def text(self) -> str:
        """The module with the mistake; it is made here, since a copy of every module for each mutant is too much."""
        copy = deepcopy(self.module)
        _put(copy, self.path, self.changed)
        return ast.unparse(copy)


def mutants(text: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its text."""
    tree = ast.parse(text)
    for path, node in _places(tree, ()):
        for changed in _changes(node):
            yield Mutant(tree, path, node, changed)


def _places(node: ast.AST, path: _Path) -> Iterator[tuple[_Path, ast.expr | ast.stmt]]:
    """The statements and expressions that run, with the fields that lead to each."""
    if isinstance(node, (ast.expr, ast.stmt)) and path:
        yield path, node
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    for name, value in ast.iter_fields(node):
        if name in _UNRUN:
            continue
        if isinstance(value, ast.AST):
            yield from _places(value, (*path, (name, None)))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _places(item, (*path, (name, index)))


def _put(tree: ast.AST, path: _Path, node: ast.AST) -> None:
    for name, index in path[:-1]:
        child = getattr(tree, name)
        tree = child if index is None else child[index]
    name, index = path[-1]
    if index is None:
        setattr(tree, name, node)
    else:
        getattr(tree, name)[index] = node


def _changes(node: ast.expr | ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    """What a node becomes by one mistake."""
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                changed = deepcopy(node)
                changed.ops[index] = _COMPARISONS[type(operator)]()
                yield changed
        case ast.BoolOp():
            yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.UnaryOp(op=ast.USub()):
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.If() | ast.While():
            inverted = deepcopy(node)
            inverted.test = ast.UnaryOp(ast.Not(), node.test)
            yield inverted
        case ast.Return(value=ast.expr() as result) if not (isinstance(result, ast.Constant) and result.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
