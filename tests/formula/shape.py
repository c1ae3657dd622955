"""Syntax trees written as nested lists in text, to compare them at one glance."""

from __future__ import annotations

from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Cast,
    Char,
    Conditional,
    Construct,
    Formula,
    Index,
    Lambda,
    Member,
    Name,
    Node,
    Number,
    Parenthesized,
    Postfix,
    String,
    TypeName,
    Unary,
    parse_formula,
)


def shape(node: Node) -> str:
    """``(+ a (* b c))`` for ``a + b * c``."""
    match node:
        case Name() | TypeName() | Number():
            return node.spelling
        case String() | Char():
            return node.text
        case Call():
            return _list("call", node.callee, *node.args)
        case Index():
            return _list("index", node.object, *node.args)
        case Member():
            arguments = "" if node.template_args is None else f"<{', '.join(map(shape, node.template_args))}>"
            return f"({'->' if node.arrow else '.'} {shape(node.object)} {node.name}{arguments})"
        case Unary():
            return _list(node.op, node.operand)
        case Postfix():
            return _list("post" + node.op, node.operand)
        case Cast():
            return _list("cast", node.type, node.operand)
        case Binary():
            return _list(node.op, node.left, node.right)
        case Conditional():
            return _list("?", node.condition, node.then, node.otherwise)
        case Parenthesized():
            return _list("paren", node.inner)
        case BraceList():
            return _list("braces", *node.items)
        case Construct():
            return _list("construct", node.type, node.braces)
        case Lambda():
            params = " ".join(param.name for param in node.params)
            uses = " ".join(shape(use) for use in node.uses)
            body = "..." if node.body is None else shape(node.body)
            return f"(lambda ({params}) ({uses}) {body})"
        case _:
            raise AssertionError(node)


def _list(head: str, *nodes: Node) -> str:
    return f"({' '.join([head, *map(shape, nodes)])})"


def good(text: str) -> Formula:
    """The formula of a text that has no problems."""
    formula = parse_formula(text)
    assert formula.problems == ()
    assert formula.tree is not None
    return formula


def shape_of(text: str) -> str:
    """The shape of a text without problems."""
    tree = good(text).tree
    assert tree is not None
    return shape(tree)
