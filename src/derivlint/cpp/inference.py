"""The types of a C++ expression and of everything in it, and what the compiler would refuse.

One error gives one problem: where something is wrong or not known the type becomes ``UNKNOWN``, which fits everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from derivlint.cpp import calls, construction, naming, operators
from derivlint.cpp.declaration import Function
from derivlint.cpp.library import Library
from derivlint.cpp.problem import ACCEPTED, TypeProblem, TypeProblemKind
from derivlint.cpp.scope import Scope
from derivlint.cpp.value import (
    BOOL,
    BRACES,
    CHAR_POINTER,
    DOUBLE,
    INT,
    INT64,
    LVALUE,
    NULL_POINTER,
    TEMPORARY,
    UNKNOWN_VALUE,
    Value,
)
from derivlint.formula import (
    Binary,
    BraceList,
    Call,
    Cast,
    Char,
    Conditional,
    Construct,
    Expr,
    Index,
    Lambda,
    Member,
    Name,
    Node,
    Number,
    Parenthesized,
    Postfix,
    String,
    Unary,
)


class Inference:
    """Works out the types of one expression.

    Attributes:
        scope: where the expression stands.
        library: what can be named.
        conversions: how types convert.
        problems: what was found wrong, in the order in which it was found.
        notes: what compiles and is hardly meant.
        values: the value of every expression of the tree that was looked at.
        callees: the function that each call was found to call.
    """

    def __init__(self, scope: Scope, library: Library) -> None:
        self.scope = scope
        self.library = library
        self.conversions = library.conversions
        self.problems: list[TypeProblem] = []
        self.notes: list[TypeProblem] = []
        self._undeclared: set[str] = set()
        self.values: dict[Expr, Value] = {}
        self.callees: dict[Expr, Function] = {}

    def value_of(self, node: Expr) -> Value:
        """The value of an expression, braced lists included."""
        value = _HANDLERS[type(node)](self, node)
        self.values[node] = value
        return value

    def operand(self, node: Expr) -> Value:
        """The value of an expression where a braced list cannot stand."""
        value = self.value_of(node)
        if value.type == BRACES:
            self.report(TypeProblemKind.MISPLACED_BRACES, node)
            return UNKNOWN_VALUE
        return value

    def report(self, kind: TypeProblemKind, place: Node | tuple[int, int], **facts: Any) -> Value:
        """Note a problem; the value of what is wrong is unknown."""
        start, end = place if isinstance(place, tuple) else (place.start, place.end)
        if kind is TypeProblemKind.UNDECLARED_NAME:
            if facts["name"] in self._undeclared:
                # one name, one problem, however often it is used
                return UNKNOWN_VALUE
            self._undeclared.add(facts["name"])
        (self.notes if kind in ACCEPTED else self.problems).append(TypeProblem(kind, start, end, **facts))
        return UNKNOWN_VALUE

    # ---- names and literals

    def name(self, node: Name) -> Value:
        """The value of a name that is not called."""
        simple = node.simple
        if simple is not None:
            value = self.scope.variables.get(simple) or WORDS.get(simple)
            if value is not None:
                return value
        return naming.named_value(self, node)

    def number(self, node: Number) -> Value:
        """The value of a number."""
        return number_value(node.text)

    def string(self, node: String) -> Value:
        """The value of a string literal."""
        return Value(CHAR_POINTER, LVALUE, None, node.text)

    def char(self, node: Char) -> Value:
        """The value of a character."""
        return Value("char")

    def braces(self, node: BraceList) -> Value:
        """The value of a braced list."""
        return Value(BRACES, TEMPORARY, tuple(map(self.value_of, node.items)))

    def parenthesized(self, node: Parenthesized) -> Value:
        """The value of an expression in parentheses."""
        return self.operand(node.inner)

    def lambda_(self, node: Lambda) -> Value:
        """A lambda has a type of its own, of which nothing more is told."""
        return UNKNOWN_VALUE

    # ---- accesses

    def index(self, node: Index) -> Value:
        """The value of ``x[i]``."""
        base = self.operand(node.object)
        indices = [self.value_of(item) for item in node.args]
        if base.is_unknown or len(indices) != 1 or indices[0].is_unknown:
            return UNKNOWN_VALUE
        return operators.index_value(self, node, base, indices[0])

    def conditional(self, node: Conditional) -> Value:
        """The value of ``condition ? then : otherwise``."""
        operators.check_condition(self, node.condition, self.operand(node.condition))
        return operators.conditional_value(self, node, self.operand(node.then), self.operand(node.otherwise))


def number_value(text: str) -> Value:
    """The value of a number; a literal that is none of C++ is unknown."""
    match = _NUMBER.fullmatch(text.replace("'", "").lower())
    if match is None:
        return UNKNOWN_VALUE
    body, suffix = match["body"], match["suffix"]
    try:
        if match["hexadecimal"] or match["decimal"]:
            number = float.fromhex(body) if match["hexadecimal"] else float(body)
            return Value("float" if suffix == "f" else DOUBLE, TEMPORARY, None, number)
        # Python does not know "017"; nor does it read thousands of digits
        whole = int(body, 8) if len(body) > 1 and body.isdecimal() and body[0] == "0" else int(body, 0)
    except (ValueError, OverflowError):
        return UNKNOWN_VALUE
    type = _SUFFIXES.get(suffix)
    if type is None or whole >= 2**64:
        return UNKNOWN_VALUE
    if type == INT and whole >= 2**31:
        type = INT64
    return Value(type, TEMPORARY, None, whole)


_NUMBER = re.compile(
    r"(?P<body>(?P<hexadecimal>0x[0-9a-f]*(?:\.[0-9a-f]*)?p[+-]?[0-9]+)"
    r"|(?P<decimal>[0-9]+(?:e[+-]?[0-9]+)|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)"
    r"|0x[0-9a-f]+|0b[01]+|[0-9]+)(?P<suffix>[a-z]*)",
    re.ASCII,
)

_SUFFIXES = {
    "": INT,
    "l": INT64,
    "ll": "long long",
    "u": "unsigned int",
    "ul": "size_t",
    "lu": "size_t",
    "z": INT64,
    "uz": "size_t",
}

#: The words of C++ that are values.
WORDS = {
    "true": Value(BOOL, TEMPORARY, None, 1),
    "false": Value(BOOL, TEMPORARY, None, 0),
    "nullptr": Value(NULL_POINTER),
    "this": UNKNOWN_VALUE,
}

_HANDLERS: dict[type, Callable[[Inference, Any], Value]] = {
    Name: Inference.name,
    Number: Inference.number,
    String: Inference.string,
    Char: Inference.char,
    BraceList: Inference.braces,
    Parenthesized: Inference.parenthesized,
    Lambda: Inference.lambda_,
    Index: Inference.index,
    Conditional: Inference.conditional,
    Call: calls.call_value,
    Member: calls.member_value,
    Construct: construction.construct_value,
    Cast: construction.cast_value,
    Unary: operators.unary_value,
    Postfix: operators.postfix_value,
    Binary: operators.binary_value,
}
