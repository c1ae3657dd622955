"""What an expression is at compile time: its C++ type and whether it can be bound to a reference."""

from __future__ import annotations

from typing import NamedTuple

#: The type of which nothing is known; whatever it touches is unknown, and nothing is said of it.
UNKNOWN = "?"
#: The type of a braced list, which takes on a type only where one is wanted.
BRACES = "{}"
VOID = "void"
BOOL = "bool"
INT = "int"
INT64 = "int64_t"
DOUBLE = "double"
CHAR_POINTER = "const char*"
#: A function that is not called; where it has no overloads it is a pointer, and true.
FUNCTION = "function*"
NULL_POINTER = "nullptr_t"
NULL_OPTION = "nullopt_t"
TENSOR = "Tensor"

#: Value categories: a variable that may be changed, one that may not, and a temporary.
LVALUE, CONST_LVALUE, TEMPORARY = 0, 1, 2


class Value(NamedTuple):
    """The static type of an expression.

    Attributes:
        type: the canonical C++ type.
        category: ``LVALUE``, ``CONST_LVALUE`` or ``TEMPORARY``.
        items: the values of a braced list.
        constant: the value of an arithmetic constant expression, which braces may not narrow and of which zero is a
            null pointer; the text of a string literal.
    """

    type: str
    category: int = TEMPORARY
    items: tuple[Value, ...] | None = None
    constant: float | str | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of it."""
        return self.type == UNKNOWN


UNKNOWN_VALUE = Value(UNKNOWN)
