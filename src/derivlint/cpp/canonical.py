"""Canonical spellings of C++ types: ``optional<Tensor>`` for ``const ::std::optional<at::Tensor> &``.

Headers, schemas and formulas spell one type in many ways. Types are compared in canonical form: without ``const``,
blanks and the namespaces of PyTorch and ``std``, and with the aliases of ``OTHER_NAMES`` expanded. Only non-const
lvalue references stay, such as ``Tensor&``, since they do not bind to temporaries.
"""

from __future__ import annotations

import re
from functools import lru_cache

from derivlint.cpp.cpp_type import CppType, cpp_type, pointer_to, reference_to, template_type
from derivlint.formula.vocabulary import words

#: The limits on types, which are parsed recursively; beyond them, a text is not a type.
MAX_LENGTH = 4000
MAX_ARGUMENTS = 120

_TOKEN = re.compile(
    r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)*"
    r"(?:(?P<word>[A-Za-z_]\w*)|(?P<number>\d\w*)|(?P<mark>::|&&|\.\.\.|[<>,&*()\[\]-])|(?P<end>\Z))"
)

#: Namespaces to drop, also if written relative to each other.
_DROPPED = frozenset(
    {
        ("at",),
        ("at", "native"),
        ("c10",),
        ("std",),
        ("caffe2",),
        ("torch",),
        ("torch", "autograd"),
        ("torch", "autograd", "generated"),
        ("torch", "autograd", "generated", "details"),
        ("native",),
        ("autograd",),
        ("autograd", "generated"),
        ("autograd", "generated", "details"),
        ("generated",),
        ("generated", "details"),
    }
)

#: The types of PyTorch's aliases, by name; aliases in users' headers are read from their declarations.
OTHER_NAMES = {
    "DimnameList": "ArrayRef<Dimname>",
    "Dtype": "ScalarType",
    "ITensorListRef": "IListRef<Tensor>",
    "IntArrayRef": "ArrayRef<int64_t>",
    "IntList": "ArrayRef<int64_t>",
    "OptionalIntArrayRef": "OptionalArrayRef<int64_t>",
    "OptionalSymIntArrayRef": "OptionalArrayRef<SymInt>",
    "SymIntArrayRef": "ArrayRef<SymInt>",
    "TensorList": "ArrayRef<Tensor>",
    "Variable": "Tensor",
    "tensor_list": "vector<Tensor>",
    "variable_list": "vector<Tensor>",
    # fixed-width types are aliases on the 64-bit systems that PyTorch supports
    "int16_t": "short",
    "int32_t": "int",
    "intptr_t": "int64_t",
    "ptrdiff_t": "int64_t",
    "ssize_t": "int64_t",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned int",
    "uint64_t": "size_t",
    "uintptr_t": "size_t",
    "Reduction::Reduction": "Reduction",
    "basic_string<char>": "string",
    "basic_string_view<char>": "string_view",
}
_ALIASES = {cpp_type(name): cpp_type(meant) for name, meant in OTHER_NAMES.items()}
#: Names in ``std`` whose canonical form shows the namespace.
_STD_NAMES = {"complex": "std_complex"}

_QUALIFIERS = frozenset({"const", "volatile", "constexpr", "typename", "struct", "class", "enum", "union"})
_ARITHMETIC = frozenset({"unsigned", "signed", "long", "short", "int", "char", "double"})
#: Words that cannot name a type.
_NO_TYPES = words(
    "alignas alignof asm break case catch concept const_cast continue default delete do dynamic_cast else explicit "
    "export extern false for friend goto if inline mutable namespace new noexcept nullptr operator private protected "
    "public register reinterpret_cast requires return sizeof static static_assert static_cast switch template this "
    "thread_local throw true try typedef typeid typename using virtual while"
)
_CHAR, _CHAR_POINTER = cpp_type("char"), cpp_type("const char*")
_POSTFIX = frozenset({"*", "&", "&&", "const", "volatile"})


@lru_cache(maxsize=16384)
def canonical_type(text: str) -> CppType | None:
    """Return the canonical type of a spelling, or None if it is not a type."""
    tokens = _tokens(text)
    if not tokens:
        return None
    try:
        type, position = _type(tokens, 0)
    except _NotATypeError:
        return None
    return type if position == len(tokens) else None


def is_constant(text: str) -> bool:
    """Whether a type is const at the top level: ``const at::Tensor &``."""
    return _tokens(text)[:1] == ["const"]


class _NotATypeError(Exception):
    """The tokens are not a type."""


def _tokens(text: str) -> list[str]:
    if len(text) > MAX_LENGTH or text.count("<") > MAX_ARGUMENTS:
        return []
    tokens: list[str] = []
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            return []
        if match.lastgroup == "end":
            return tokens
        tokens.append(match[match.lastgroup or 0])
        position = match.end()


def _at(tokens: list[str], position: int) -> str:
    return tokens[position] if position < len(tokens) else ""


def _type(tokens: list[str], position: int) -> tuple[CppType, int]:
    """Parse a type with ``*`` and ``&`` at a token; return it and the position after it."""
    is_const = False
    while _at(tokens, position) in _QUALIFIERS:
        is_const = is_const or tokens[position] == "const"
        position += 1
    if _at(tokens, position) in _ARITHMETIC:
        type, position, const_inside = _arithmetic(tokens, position)
        is_const = is_const or const_inside
    else:
        type, position = _named(tokens, position)
    while (mark := _at(tokens, position)) in _POSTFIX:
        position += 1
        if mark == "*":
            type = _CHAR_POINTER if type is _CHAR and is_const else pointer_to(type)
            is_const = False
        elif mark == "&":
            return (type if is_const else reference_to(type)), position
        elif mark == "&&":
            return type, position
        else:
            is_const = is_const or mark == "const"
    return type, position


def _arithmetic(tokens: list[str], position: int) -> tuple[CppType, int, bool]:
    """Parse a built-in arithmetic type: ``unsigned long int`` in any order, with ``const`` in between."""
    words: list[str] = []
    is_const = False
    while (word := _at(tokens, position)) in _ARITHMETIC or word in ("const", "volatile"):
        is_const = is_const or word == "const"
        if word in _ARITHMETIC:
            words.append(word)
        position += 1
    name = _number_type(words)
    if name is None:
        raise _NotATypeError
    return cpp_type(name), position, is_const


def _number_type(spelled: list[str]) -> str | None:
    rest = sorted(spelled)
    is_unsigned = "unsigned" in rest
    for sign in ("signed", "unsigned"):
        if sign in rest:
            rest.remove(sign)
    if rest == ["char"]:
        # "char" is distinct from "signed char" and "unsigned char"
        return "uint8_t" if is_unsigned else "int8_t" if "signed" in spelled else "char"
    if "double" in rest:
        return {1: "double", 2: "long double"}.get(len(rest)) if len(rest) == len(spelled) else None
    if "int" in rest:
        rest.remove("int")
    name = _INTEGERS.get(tuple(rest))
    return name[is_unsigned] if name is not None else None


_INTEGERS = {
    (): ("int", "unsigned int"),
    ("short",): ("short", "unsigned short"),
    ("long",): ("int64_t", "size_t"),
    ("long", "long"): ("long long", "unsigned long long"),
}


def _named(tokens: list[str], position: int) -> tuple[CppType, int]:
    """Parse a name with namespaces and template arguments: ``::std::vector<at::Tensor>::iterator``."""
    if _at(tokens, position) == "::":
        position += 1
    segments: list[CppType] = []
    path: list[str] = []
    while True:
        word = _at(tokens, position)
        if not (word[:1].isalpha() or word[:1] == "_") or word in _NO_TYPES or word in _QUALIFIERS:
            raise _NotATypeError
        position += 1
        if word == "decltype":
            return cpp_type("auto"), _closed(tokens, position)
        path.append(word)
        if path[:-1] == ["std"]:
            word = _STD_NAMES.get(word, word)
        if _at(tokens, position) == "<":
            arguments, position = _arguments(tokens, position + 1)
            segments.append(template_type(word, arguments))
        else:
            segments.append(cpp_type(word))
        if _at(tokens, position) != "::":
            return _short(segments, path), position
        position += 1
        if _at(tokens, position) == "template":
            position += 1


def _short(segments: list[CppType], path: list[str]) -> CppType:
    """Drop namespaces and expand aliases."""
    dropped = 0
    for count in range(len(path) - 1, 0, -1):
        if tuple(path[:count]) in _DROPPED:
            dropped = count
            break
    *scopes, type = segments[dropped:]
    if scopes:
        head = "::".join([*(scope.text for scope in scopes), type.head])
        type = template_type(head, type.arguments) if type.arguments else cpp_type(head)
    return _ALIASES.get(type, type)


def _arguments(tokens: list[str], position: int) -> tuple[list[CppType], int]:
    """Parse template arguments after their ``<``, up to and including the ``>``."""
    arguments: list[CppType] = []
    if _at(tokens, position) == ">":
        return arguments, position + 1
    while True:
        argument, position = _argument(tokens, position)
        arguments.append(argument)
        mark = _at(tokens, position)
        position += 1
        if mark == ">":
            return arguments, position
        if mark != ",":
            raise _NotATypeError


def _argument(tokens: list[str], position: int) -> tuple[CppType, int]:
    """Parse a template argument: a number, a type, or a function type such as ``Tensor(int64_t,bool)``."""
    word = _at(tokens, position)
    sign = ""
    if word == "-":
        sign, position = "-", position + 1
        word = _at(tokens, position)
    if word[:1].isdigit():
        return cpp_type(sign + word.rstrip("uUlLzZ")), position + 1
    if sign:
        raise _NotATypeError
    if word in ("true", "false"):
        return cpp_type(word), position + 1
    type, position = _type(tokens, position)
    if _at(tokens, position) == "(":
        parameters: list[str] = []
        position += 1
        while _at(tokens, position) != ")":
            if parameters:
                if _at(tokens, position) != ",":
                    raise _NotATypeError
                position += 1
            parameter, position = _type(tokens, position)
            if (name := _at(tokens, position))[:1].isalpha() or name[:1] == "_":
                position += 1
            parameters.append(parameter.text)
        type, position = cpp_type(f"{type}({','.join(parameters)})"), position + 1
    if _at(tokens, position) == "...":
        return cpp_type(f"{type}..."), position + 1
    return type, position


def _closed(tokens: list[str], position: int) -> int:
    """The index of the parenthesis that closes the one at ``position``."""
    depth = 0
    while position < len(tokens):
        depth += {"(": 1, ")": -1}.get(tokens[position], 0)
        position += 1
        if depth == 0:
            return position
    raise _NotATypeError
