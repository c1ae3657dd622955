"""Errors in single tokens, and expressions that parse but cannot be meant.

The grammar has no types or declarations, so it accepts ``2 (x)``, a call of a number, and ``std::get<0(x)``, a
comparison of a template. Each lacks an operator, a bracket or a name.
"""

from __future__ import annotations

import re

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
from derivlint.formula.parsing.angles import BUILT_IN_TYPES
from derivlint.formula.parsing.tokens import SyntaxProblem, SyntaxProblemKind
from derivlint.formula.vocabulary import BAD, SEMICOLON, UNCLOSED_COMMENT, UNCLOSED_STRING, Token, words

#: The ASCII characters that word processors and chat programs replace.
_LOOKALIKES = {
    **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014\ufe63\uff0d", "-"),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u2033\uff02", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u2032\u00b4\uff07", "'"),
    **dict.fromkeys("\u00d7\u2217\u22c5\u00b7\u2219\uff0a", "*"),
    **dict.fromkeys("\u00f7\u2215\u2044\uff0f", "/"),
    **dict.fromkeys("\u00a0\u2007\u2009\u200a\u202f\u3000\u2002\u2003", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "!=",
    "\uff08": "(",
    "\uff09": ")",
    "\uff3b": "[",
    "\uff3d": "]",
    "\uff0c": ",",
    "\uff1a": ":",
    "\uff1f": "?",
    "\uff0b": "+",
    "\uff1d": "=",
    "\uff1c": "<",
    "\uff1e": ">",
    "\u2026": "...",
}
_ASCII_HELP = {
    "@": 'C++ has no "@" operator, call "matmul"',
    "$": None,
    "#": "C++ comments are written /* like this */",
    "`": "string literals are in double quotes",
    "\\": None,
}

_INTEGER_SUFFIX = r"(?:[uU](?:ll|LL|[lLzZ])?|(?:ll|LL|[lLzZ])[uU]?)?"
_NUMBER = re.compile(
    rf"(?:0|[1-9](?:'?[0-9])*|0(?:'?[0-7])+|0[xX][0-9a-fA-F](?:'?[0-9a-fA-F])*|0[bB][01](?:'?[01])*){_INTEGER_SUFFIX}"
    r"|(?:[0-9](?:'?[0-9])*\.(?:[0-9](?:'?[0-9])*)?|\.[0-9](?:'?[0-9])*)(?:[eE][+-]?[0-9](?:'?[0-9])*)?[fFlL]?"
    r"|[0-9](?:'?[0-9])*[eE][+-]?[0-9](?:'?[0-9])*[fFlL]?"
    r"|0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFlL]?"
)
_SUSPECTS = frozenset({BAD, UNCLOSED_STRING, UNCLOSED_COMMENT, "LINE_COMMENT", "NUMBER"})


def lexical_problem(text: str, everything: list[Token], significant: list[Token]) -> SyntaxProblem | None:
    """The first problem that a single token shows, or None; a trailing semicolon comes last."""
    if not significant:
        comment = next((token for token in everything if token.type in ("COMMENT", "LINE_COMMENT")), None)
        if comment is None:
            return SyntaxProblem(SyntaxProblemKind.EMPTY, "the formula is empty", 0, len(text))
        return SyntaxProblem(SyntaxProblemKind.EMPTY, "the formula is only a comment", comment.start, comment.end)
    for token in everything:
        if token.type in _SUSPECTS:
            problem = _suspect(text, token)
            if problem is not None:
                return problem
    if significant[-1].type == SEMICOLON:
        first = len(significant) - 1
        while first and significant[first - 1].type == SEMICOLON:
            first -= 1
        start, end = significant[first].start, significant[-1].end
        message = 'a formula is an expression, it does not end with ";"'
        return SyntaxProblem(SyntaxProblemKind.TRAILING_SEMICOLON, message, start, end, 'remove the ";"')
    return None


def _suspect(text: str, token: Token) -> SyntaxProblem | None:
    start, end = token.start, token.end
    if token.type == "NUMBER":
        return _number(token)
    if token.type == "LINE_COMMENT":
        if end < len(text):
            return None  # a line break ends the comment, as in a block scalar of YAML
        message = 'a "//" comment also hides the code that is generated after the formula'
        return SyntaxProblem(SyntaxProblemKind.LINE_COMMENT, message, start, end, "write /* ... */, or a YAML comment")
    if token.type == UNCLOSED_COMMENT:
        return SyntaxProblem(
            SyntaxProblemKind.UNCLOSED_COMMENT, '"/*" is never closed', start, start + 2, 'close the comment with "*/"'
        )
    if token.type == UNCLOSED_STRING:
        quote = token.text[0]
        message = f"{'string' if quote == chr(34) else 'character'} literal is never closed"
        return SyntaxProblem(SyntaxProblemKind.UNCLOSED_STRING, message, start, end, f"close it with {quote}")
    return _character(text, token)


def _number(token: Token) -> SyntaxProblem | None:
    text = token.text
    if (text.isdigit() and text[0] != "0") or _NUMBER.fullmatch(text):
        return None
    help_text = None
    if "_" in text and _NUMBER.fullmatch(text.replace("_", "'")):
        help_text = f'C++ groups digits with "\'": {text.replace("_", chr(39))}'
    elif text[0] == "0" and text.isdigit():
        help_text = "a number that begins with 0 is octal in C++"
    elif text.count(".") > 1:
        help_text = 'a number has one "."'
    elif text[-1] in "jJ":
        help_text = "C++ has no imaginary numbers"
    return SyntaxProblem(
        SyntaxProblemKind.BAD_NUMBER, f'"{text}" is not a number in C++', token.start, token.end, help_text
    )


def _character(text: str, token: Token) -> SyntaxProblem:
    start, end = token.start, token.end
    if len(token.text) > 1:
        message = f'"{token.text}" is not an identifier in C++'
        return SyntaxProblem(SyntaxProblemKind.BAD_CHARACTER, message, start, end)
    char = token.text
    if char == ".":
        while end < len(text) and text[end] == ".":
            end += 1
        return SyntaxProblem(SyntaxProblemKind.UNEXPECTED, f'unexpected "{text[start:end]}"', start, end)
    if char.isascii() and char.isprintable():
        message = f'"{char}" means nothing in a C++ expression'
        return SyntaxProblem(SyntaxProblemKind.BAD_CHARACTER, message, start, end, _ASCII_HELP.get(char))
    import unicodedata

    label = f"U+{ord(char):04X}"
    name = unicodedata.name(char, "").lower()
    written = (
        f'"{char}" ({label}{", " + name if name else ""})' if char.isprintable() else f"{name or 'character'} {label}"
    )
    meant = _LOOKALIKES.get(char)
    if meant is None:
        return SyntaxProblem(
            SyntaxProblemKind.BAD_CHARACTER, f"{written} means nothing in a C++ expression", start, end
        )
    if not meant.strip():
        help_text = "write a blank" if meant else "remove it"
    else:
        help_text = "write ASCII quotes" if meant in "\"'" else f'did you mean "{meant}"?'
    return SyntaxProblem(SyntaxProblemKind.BAD_CHARACTER, f"{written} is not an ASCII character", start, end, help_text)


# ---- suspicious expressions


_CLASS_TEMPLATES = words("vector tuple array pair optional complex ArrayRef OptionalArrayRef")
_CASTS = frozenset({"static_cast", "const_cast", "reinterpret_cast", "dynamic_cast"})
#: The last tokens of operands that are never called, see :func:`_is_never_called`.
_ENDS_OPERAND = frozenset({"NUMBER", "STRING", "CHAR", "RPAR"})
_ALWAYS_TEMPLATES = _CLASS_TEMPLATES | _CASTS | {"get"}


def suspicious_problem(text: str, tokens: list[Token], tree: Expr) -> SyntaxProblem | None:
    """The first suspicious expression of a text that parses, or None.

    The tree is searched only if two adjacent tokens are suspicious.
    """
    look = tokens[-1].type == "TEMPLATE_CLOSE"
    has_comma = "," in text
    before = ""
    previous = tokens[0]
    depth = 0
    for index, token in enumerate(tokens):
        kind = token.type
        depth += (kind == "TEMPLATE_OPEN") - (kind == "TEMPLATE_CLOSE")
        if kind == "IDENT" and depth and before in ("IDENT", "TEMPLATE_CLOSE") and not _is_one_type(previous, token):
            message = f'missing comma between "{previous.text}" and "{token.text}"'
            return SyntaxProblem(SyntaxProblemKind.MISSING_OPERATOR, message, token.start, token.end)
        if kind == "LPAR":
            # "2 (" and ") (", and non-call parentheses, which may contain a comma
            look = look or before in _ENDS_OPERAND or (has_comma and before not in ("IDENT", "TEMPLATE_CLOSE"))
        elif kind == "LSQB":
            look = look or before == "NUMBER"
        elif before == "TEMPLATE_CLOSE":
            look = look or kind not in ("LBRACE", "SCOPE", "TEMPLATE_CLOSE")
        elif kind == "BINARY" and token.text == "<" and previous.text in _ALWAYS_TEMPLATES:
            start = index - 1
            while start > 1 and tokens[start - 1].type == "SCOPE" and tokens[start - 2].type == "IDENT":
                start -= 2
            name = "".join(token.text for token in tokens[start:index])
            if "::" in name or name in _CASTS:
                message = f'the template arguments of "{name}" are never closed'
                return SyntaxProblem(SyntaxProblemKind.UNCLOSED_BRACKET, message, token.start, token.end, 'add ">"')
        before = kind
        previous = token
    return _in_tree(text, tokens, tree) if look else None


#: Words before a type, which are part of it; the first two may also follow it.
_TYPE_PREFIXES = frozenset({"const", "volatile", "typename", "struct", "class", "enum"})


def _is_one_type(first: Token, second: Token) -> bool:
    """Whether two adjacent words are of one type: ``const Tensor``, ``long long``."""
    words = {first.text, second.text}
    return not words.isdisjoint(_TYPE_PREFIXES) or words <= BUILT_IN_TYPES


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
            while isinstance(node.left, Binary) and node.left.op == ",":
                node = node.left
            cure = "write the function before the parentheses, or remove the value"
            place = (node.op_start, node.op_start + 1)
            return SyntaxProblem(SyntaxProblemKind.COMMA_OPERATOR, message, *place, cure)
        stack.extend(child for child in reversed(children) if not isinstance(child, TypeName))
    return None


def _missing_operator(tokens: list[Token], called: Node) -> SyntaxProblem:
    opening = next(token for token in tokens if token.start >= called.end)
    last = next(token for token in reversed(tokens) if token.end <= called.end)
    message = f'missing operator between "{last.text}" and "{opening.text}"'
    return SyntaxProblem(SyntaxProblemKind.MISSING_OPERATOR, message, opening.start, opening.end)


def _is_never_called(node: Node, subscript: bool) -> bool:
    """Whether an expression is a literal or arithmetic, which is never called, or a number, which is never indexed."""
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
