"""The compile-time value of an expression: its C++ type and its value category."""

from __future__ import annotations

from typing import NamedTuple

from derivlint.cpp.cpp_type import CppType, cpp_type

#: The unknown type: whatever it touches is unknown as well, and is never reported.
UNKNOWN = cpp_type("?")
#: The type of a braced list, which takes on a type only where one is wanted.
BRACES = cpp_type("{}")
VOID = cpp_type("void")
BOOL = cpp_type("bool")
INT = cpp_type("int")
INT64 = cpp_type("int64_t")
DOUBLE = cpp_type("double")
FLOAT = cpp_type("float")
CHAR = cpp_type("char")
SIZE = cpp_type("size_t")
SYM_INT = cpp_type("SymInt")
CHAR_POINTER = cpp_type("const char*")
#: A function that is not called; where it has no overloads it is a pointer, and true.
FUNCTION = cpp_type("function*")
NULL_POINTER = cpp_type("nullptr_t")
NULL_OPTION = cpp_type("nullopt_t")
TENSOR = cpp_type("Tensor")
SCALAR = cpp_type("Scalar")

#: Value categories: a variable that may be changed, one that may not, and a temporary.
LVALUE, CONST_LVALUE, TEMPORARY = 0, 1, 2


class Value(NamedTuple):
    """The static type of an expression.

    Attributes:
        type: the canonical C++ type.
        category: ``LVALUE``, ``CONST_LVALUE`` or ``TEMPORARY``.
        items: the values of a braced list.
        constant: the value of an arithmetic constant expression, which braces may not narrow and whose zero is a
            null pointer; the text of a string literal.
    """

    type: CppType
    category: int = TEMPORARY
    items: tuple[Value, ...] | None = None
    constant: float | str | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known about it."""
        return self.type is UNKNOWN


UNKNOWN_VALUE = Value(UNKNOWN)
