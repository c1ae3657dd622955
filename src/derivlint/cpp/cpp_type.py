"""Canonical C++ types as objects, one for each type: types are compared by identity.

What headers, schemas and formulas write becomes a type in :func:`derivlint.cpp.canonical.canonical_type`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from weakref import WeakValueDictionary

from msgspec import Struct

from derivlint.formula.numbers import whole_number


class CppType(Struct, frozen=True, eq=False, weakref=True):
    """A type; made by :func:`cpp_type` and the functions below only.

    Attributes:
        text: its canonical spelling, ``optional<Tensor>``.
        head: the name of the template, ``optional``; the spelling where it is not made of one.
        arguments: the arguments of the template; numbers among them are types of that name.
        pointee: what a pointer points to, None of other types.
        referred: what a reference that can be written through refers to, None of other types.
        has_tensors: whether it is a class of tensors, or made of one.
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
        """The number of elements of an array of a known size."""
        is_array = self.head == "array" and len(self.arguments) == 2
        return whole_number(self.arguments[1].text) if is_array else None


_types: WeakValueDictionary[str, CppType] = WeakValueDictionary()


def cpp_type(text: str) -> CppType:
    """The type of a canonical spelling."""
    type = _types.get(text)
    if type is None:
        type = _types.setdefault(text, _read(text))
    return type


def types(text: str) -> frozenset[CppType]:
    """The types of canonical spellings with blanks between."""
    return frozenset(map(cpp_type, text.split()))


def template_type(head: str, arguments: Iterable[CppType]) -> CppType:
    """A template with arguments."""
    arguments = tuple(arguments)
    text = f"{head}<{','.join(argument.text for argument in arguments)}>"
    type = _types.get(text)
    return _types.setdefault(text, _made(text, head, arguments)) if type is None else type


def pointer_to(type: CppType) -> CppType:
    """A pointer to a type."""
    return cpp_type(f"{type.text}*")


def reference_to(type: CppType) -> CppType:
    """A reference to a type through which values can be changed."""
    return cpp_type(f"{type.text}&")


def substitute(type: CppType, bindings: Mapping[str, CppType]) -> CppType:
    """A type with template parameters replaced."""
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
    """The name of a template and its arguments, which are in the last of its angle brackets: ``A<B>::C<D>``."""
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
