"""C++ types as generated code writes them, one object for each spelling.

PyTorch has several names for one type: ``at::TensorList`` in a kernel, ``std::vector<Tensor>`` in a node. What is asked
of a type is asked of the canonical one; the spelling is for those who print C++, and ``str`` gives it.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from derivlint.cpp.canonical import canonical_type, is_constant
from derivlint.cpp.cpp_type import CppType
from derivlint.cpp.expressions.value import CONST_LVALUE, LVALUE, UNKNOWN, UNKNOWN_VALUE, Value


class DeclaredType(Struct, frozen=True, eq=False):
    """The type with which generated code declares something; made by the functions below only.

    Attributes:
        text: how it is written, ``const at::Tensor &``.
        canonical: the type that this is, ``UNKNOWN`` where it cannot be read.
        value: what a variable declared with it is: ``const at::Tensor &`` is a tensor that cannot be changed.
    """

    text: str
    canonical: CppType
    value: Value

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4096)
def declared_type(text: str) -> DeclaredType:
    """The type that generated code writes like that."""
    canonical = canonical_type(text)
    if canonical is None:
        return DeclaredType(text, UNKNOWN, UNKNOWN_VALUE)
    constant = is_constant(text) and canonical.pointee is None
    return DeclaredType(text, canonical, Value(canonical.unreferenced, CONST_LVALUE if constant else LVALUE))


def optional_of(element: DeclaredType) -> DeclaredType:
    """The optional of a type."""
    return declared_type(f"::std::optional<{element}>")


def vector_of(element: DeclaredType) -> DeclaredType:
    """The vector of a type."""
    return declared_type(f"::std::vector<{element}>")
