"""Canonical C++ types, interned and compared by identity, and the static types of expressions.

:func:`derivlint.cpp.canonical.canonical_type` converts spellings to canonical types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

from msgspec import Struct

from derivlint.formula.vocabulary import whole_number

#: Value categories: a non-const lvalue, a const lvalue, and a temporary.
LVALUE, CONST_LVALUE, TEMPORARY = 0, 1, 2


class CppType(Struct, frozen=True, eq=False, weakref=True):
    """A type; constructed only by :func:`cpp_type` and the functions below.

    Attributes:
        text: its canonical spelling, ``optional<Tensor>``.
        head: the name of the template, ``optional``; the spelling if it is not a specialization.
        arguments: the template arguments; numbers are represented as types.
        pointee: the type that a pointer points to, or None.
        referred: the type that a non-const reference refers to, or None.
        has_tensors: whether it is a tensor class, or contains one.
    """

    text: str
    head: str
    arguments: tuple[CppType, ...] = ()
    pointee: CppType | None = None
    referred: CppType | None = None
    has_tensors: bool = False

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return cpp_type, (self.text,)

    @property
    def unreferenced(self) -> CppType:
        """The referred type of a reference, or the type itself."""
        return self.referred or self

    @property
    def innermost(self) -> CppType:
        """The type without references and pointers."""
        inner = self.referred or self.pointee
        return self if inner is None else inner.innermost

    @property
    def size(self) -> int | None:
        """The number of elements of an array, or None."""
        is_array = self.head == "array" and len(self.arguments) == 2
        return whole_number(self.arguments[1].text) if is_array else None


_types: WeakValueDictionary[str, CppType] = WeakValueDictionary()


def cpp_type(text: str) -> CppType:
    """The type with a canonical spelling."""
    type = _types.get(text)
    if type is None:
        type = _types.setdefault(text, _read(text))
    return type


def types(text: str) -> frozenset[CppType]:
    """The types with these canonical spellings, separated by blanks."""
    return frozenset(map(cpp_type, text.split()))


def template_type(head: str, arguments: Iterable[CppType]) -> CppType:
    """The specialization of a template."""
    arguments = tuple(arguments)
    text = f"{head}<{','.join(argument.text for argument in arguments)}>"
    type = _types.get(text)
    return _types.setdefault(text, _made(text, head, arguments)) if type is None else type


def pointer_to(type: CppType) -> CppType:
    """The pointer to a type."""
    return cpp_type(f"{type.text}*")


def reference_to(type: CppType) -> CppType:
    """The non-const reference to a type."""
    return cpp_type(f"{type.text}&")


def substitute(type: CppType, bindings: Mapping[str, CppType]) -> CppType:
    """Replace template parameters in a type."""
    bound = bindings.get(type.text)
    if bound is not None:
        return bound
    if type.referred is not None:
        return reference_to(substitute(type.referred, bindings))
    if type.pointee is not None:
        return pointer_to(substitute(type.pointee, bindings))
    if not type.arguments:
        return type
    return template_type(type.head, (substitute(argument, bindings) for argument in type.arguments))


def _made(
    text: str,
    head: str,
    arguments: tuple[CppType, ...] = (),
    pointee: CppType | None = None,
    referred: CppType | None = None,
) -> CppType:
    return CppType(text, head, arguments, pointee, referred, "Tensor" in text)


def _read(text: str) -> CppType:
    if text.endswith("&"):
        return _made(text, text, referred=cpp_type(text[:-1]))
    if text.endswith("*"):
        return _made(text, text, pointee=cpp_type(text[:-1]))
    if not text.endswith(">"):
        return _made(text, text)
    head, *arguments = _split(text)
    return _made(text, head, tuple(map(cpp_type, arguments)))


def _split(text: str) -> list[str]:
    """Split a spelling into template name and arguments; the last angle brackets count: ``A<B>::C<D>``."""
    depth, end = 0, len(text) - 1
    words: list[str] = []
    for index in range(end, -1, -1):
        character = text[index]
        if character in ">)":
            depth += 1
        elif depth == 1 and character in "<,":
            words.append(text[index + 1 : end])
            end = index
        if character in "<(":
            depth -= 1
            if depth == 0:
                break
    return [text[:end], *filter(None, reversed(words))]


#: The unknown type: expressions over it are unknown and never reported.
UNKNOWN = cpp_type("?")
#: The type of a braced list, which depends on the initialized type.
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
#: The type of an uncalled function; it decays to a pointer if it is not overloaded.
FUNCTION = cpp_type("function*")
NULL_POINTER = cpp_type("nullptr_t")
NULL_OPTION = cpp_type("nullopt_t")
TENSOR = cpp_type("Tensor")
SCALAR = cpp_type("Scalar")


class Value(NamedTuple):
    """The static type of an expression.

    Attributes:
        type: the canonical C++ type.
        category: ``LVALUE``, ``CONST_LVALUE`` or ``TEMPORARY``.
        items: the values of a braced list.
        constant: the value of a constant expression, for narrowing and null pointers, or the text of a string literal.
    """

    type: CppType
    category: int = TEMPORARY
    items: tuple[Value, ...] | None = None
    constant: float | str | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether the type is unknown."""
        return self.type is UNKNOWN


UNKNOWN_VALUE = Value(UNKNOWN)
