"""Type inference for a C++ expression and all its nodes, with the errors of a compiler.

Each error is reported once: erroneous and unknown parts have the type ``UNKNOWN``, which is accepted everywhere.
"""

from __future__ import annotations

import re
from functools import lru_cache

from derivlint.cpp import naming
from derivlint.cpp.cpp_type import (
    BOOL,
    BRACES,
    CHAR,
    CHAR_POINTER,
    DOUBLE,
    FLOAT,
    INT,
    INT64,
    LVALUE,
    NULL_POINTER,
    SIZE,
    TEMPORARY,
    UNKNOWN_VALUE,
    Value,
)
from derivlint.cpp.expressions import calls, construction, operators
from derivlint.cpp.expressions.conversion import LONG_LONG, UNSIGNED_INT
from derivlint.cpp.expressions.typer import Typer
from derivlint.formula import BraceList, Char, Conditional, Expr, Index, Lambda, Name, Number, Parenthesized, String


class Inference(Typer):
    """The type inference of one expression; ``of`` returns the value of any node, including braced lists."""

    call = calls.call_value
    member = calls.member_value
    construct = construction.construct_value
    cast = construction.cast_value
    unary = operators.unary_value
    postfix = operators.postfix_value
    binary = operators.binary_value

    def otherwise(self, node: Expr) -> Value:
        """The unknown value, for lambdas, whose type is unique; checks the types that they declare."""
        if isinstance(node, Lambda):
            naming.check_type(self, node.types, is_type=False)
        return UNKNOWN_VALUE

    # ---- names and literals

    def name(self, node: Name) -> Value:
        """The value of an uncalled name."""
        simple = node.simple
        if simple is not None:
            value = self.variable(simple) or WORDS.get(simple)
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
        """The value of a character literal."""
        return Value(CHAR)

    def braces(self, node: BraceList) -> Value:
        """The value of a braced list."""
        return Value(BRACES, TEMPORARY, tuple(map(self.of, node.items)))

    def parenthesized(self, node: Parenthesized) -> Value:
        """The value of an expression in parentheses."""
        return self.operand(node.inner)

    # ---- accesses

    def index(self, node: Index) -> Value:
        """The value of ``x[i]``."""
        base = self.operand(node.object)
        indices = [self.of(item) for item in node.args]
        if base.is_unknown or len(indices) != 1 or indices[0].is_unknown:
            return UNKNOWN_VALUE
        return operators.index_value(self, node, base, indices[0])

    def conditional(self, node: Conditional) -> Value:
        """The value of ``condition ? then : otherwise``."""
        operators.check_condition(self, node.condition, self.operand(node.condition))
        return operators.conditional_value(self, node, self.operand(node.then), self.operand(node.otherwise))


@lru_cache(maxsize=1024)
def number_value(text: str) -> Value:
    """The value of a number; unknown for a malformed literal."""
    match = _NUMBER.fullmatch(text.replace("'", "").lower())
    if match is None:
        return UNKNOWN_VALUE
    body, suffix = match["body"], match["suffix"]
    try:
        if match["hexadecimal"] or match["decimal"]:
            number = float.fromhex(body) if match["hexadecimal"] else float(body)
            return Value(FLOAT if suffix == "f" else DOUBLE, TEMPORARY, None, number)
        # Python rejects "017", and integers of thousands of digits
        whole = int(body, 8) if len(body) > 1 and body.isdecimal() and body[0] == "0" else int(body, 0)
    except (ValueError, OverflowError):
        return UNKNOWN_VALUE
    type = _SUFFIXES.get(suffix)
    if type is None or whole >= 2**64:
        return UNKNOWN_VALUE
    if type is INT and whole >= 2**31:
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
    "ll": LONG_LONG,
    "u": UNSIGNED_INT,
    "ul": SIZE,
    "lu": SIZE,
    "z": INT64,
    "uz": SIZE,
}

#: The C++ keywords that are values.
WORDS = {
    "true": Value(BOOL, TEMPORARY, None, 1),
    "false": Value(BOOL, TEMPORARY, None, 0),
    "nullptr": Value(NULL_POINTER),
    "this": UNKNOWN_VALUE,
}
