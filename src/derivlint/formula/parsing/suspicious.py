"""Expressions that parse although no one can mean them or no compiler accepts them.

The grammar knows no types and no declarations, so it lets pass that ``2 (x)`` calls a number and that ``std::get<0(x)``
compares a template. Each of these is a slip in the syntax: an operator, a bracket or a name was forgotten.
"""

from __future__ import annotations

from derivlint.formula.nodes import (
    Binary,
    Call,
    Char,
    Construct,
    Expr,
    Index,
    Name,
    Node,
    Number,
    Parenthesized,
    String,
    TypeName,
    Unary,
)
from derivlint.formula.parsing.tokens import SyntaxProblem, SyntaxProblemKind
from derivlint.formula.vocabulary import Token, words

_CLASS_TEMPLATES = words("vector tuple array pair optional complex ArrayRef OptionalArrayRef")
_CASTS = frozenset({"static_cast", "const_cast", "reinterpret_cast", "dynamic_cast"})
#: The last tokens of what is never called, see :func:`_is_never_called`.
_ENDS_OPERAND = frozenset({"NUMBER", "STRING", "CHAR", "RPAR"})
_ALWAYS_TEMPLATES = _CLASS_TEMPLATES | _CASTS | {"get"}


def suspicious_problem(text: str, tokens: list[Token], tree: Expr) -> SyntaxProblem | None:
    """The first slip of a text that parses, or None.

    The tree is only looked at where two neighbouring tokens give a reason to.
    """
    look = tokens[-1].type == "TEMPLATE_CLOSE"
    has_comma = "," in text
    before = ""
    previous = tokens[0]
    for index, token in enumerate(tokens):
        kind = token.type
        if kind == "LPAR":
            # "2 (" and ") (", and parentheses that are not a call, which may contain commas
            look = look or before in _ENDS_OPERAND or (has_comma and before not in ("IDENT", "TEMPLATE_CLOSE"))
        elif kind == "LSQB":
            look = look or before == "NUMBER"
        elif before == "TEMPLATE_CLOSE":
            look = look or kind not in ("LBRACE", "SCOPE", "TEMPLATE_CLOSE")
        elif kind == "BINARY" and token.text == "<" and previous.text in _ALWAYS_TEMPLATES:
            name = _name_before(tokens, index)
            if "::" in name or name in _CASTS:
                message = f'the template arguments of "{name}" are never closed'
                return SyntaxProblem(SyntaxProblemKind.UNCLOSED_BRACKET, message, token.start, token.end, 'add ">"')
        before = kind
        previous = token
    return _in_tree(text, tokens, tree) if look else None


def _name_before(tokens: list[Token], index: int) -> str:
    start = index - 1
    while start > 1 and tokens[start - 1].type == "SCOPE" and tokens[start - 2].type == "IDENT":
        start -= 2
    return "".join(token.text for token in tokens[start:index])


def _in_tree(text: str, tokens: list[Token], tree: Expr) -> SyntaxProblem | None:
    stack: list[Node] = [tree]
    while stack:
        node = stack.pop()
        children = list(node.children)
        if isinstance(node, Call | Index):
            called = node.callee if isinstance(node, Call) else node.object
            if _is_never_called(called, isinstance(node, Index)):
                return _missing_operator(tokens, called)
        if isinstance(node, Call | Construct) and isinstance(children[0], Name):
            del children[0]  # a type that is called is not a value by itself
        elif isinstance(node, Name) and node.parts[-1].template_args is not None:
            if node.parts[-1].identifier in _CLASS_TEMPLATES:
                message = f'"{text[node.start : node.end]}" is a type, not a value'
                return SyntaxProblem(SyntaxProblemKind.MISSING_OPERAND, message, node.start, node.end, 'add "()"')
        elif isinstance(node, Binary) and node.op == ",":
            message = '"," discards the value before it: these parentheses are not a call'
            first = _first_comma(node)
            return SyntaxProblem(SyntaxProblemKind.COMMA_OPERATOR, message, first, first + 1)
        stack.extend(child for child in reversed(children) if not isinstance(child, TypeName))
    return None


def _first_comma(node: Binary) -> int:
    while isinstance(node.left, Binary) and node.left.op == ",":
        node = node.left
    return node.op_start


def _missing_operator(tokens: list[Token], called: Node) -> SyntaxProblem:
    opening = next(token for token in tokens if token.start >= called.end)
    last = next(token for token in reversed(tokens) if token.end <= called.end)
    message = f'missing operator between "{last.text}" and "{opening.text}"'
    return SyntaxProblem(SyntaxProblemKind.MISSING_OPERATOR, message, opening.start, opening.end)


def _is_never_called(node: Node, subscript: bool) -> bool:
    """Whether an expression is a literal or the result of arithmetic, which is not called, and a number not indexed."""
    if isinstance(node, Number):
        return True
    if subscript:
        return False
    if isinstance(node, String | Char):
        return True
    if not isinstance(node, Parenthesized):
        return False
    inner = node.inner
    if isinstance(inner, Binary):
        return inner.op[-1] != "=" or inner.op in ("==", "!=", "<=", ">=")
    return isinstance(inner, Number) or (isinstance(inner, Unary) and inner.op in ("+", "-", "!", "~"))
