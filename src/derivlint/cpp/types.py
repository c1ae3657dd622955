"""C++ types as spelled in generated code, one object per spelling; the types of arguments and returns.

One type has several spellings: ``at::TensorList`` in a kernel, ``std::vector<Tensor>`` in a node. Types compare by
their canonical type; ``str`` returns the spelling for emitted C++. The types of arguments and returns follow
torchgen/api/cpp.py (``argumenttype_type``, ``returntype_type``) and torchgen/api/types.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from derivlint.cpp.canonical import canonical_type, is_constant
from derivlint.cpp.cpp_type import CONST_LVALUE, LVALUE, UNKNOWN, UNKNOWN_VALUE, CppType, Value, types
from derivlint.schema import ListType, OptionalType, Type

#: The C++ names of schema base types.
BASE_TYPES = {
    "Tensor": "at::Tensor",
    "Scalar": "at::Scalar",
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "c10::string_view",
    "SymInt": "c10::SymInt",
    "SymBool": "c10::SymBool",
    "Generator": "at::Generator",
    "ScalarType": "at::ScalarType",
    "DimVector": "at::DimVector",
    "Dimname": "at::Dimname",
    "Layout": "at::Layout",
    "Device": "at::Device",
    "DeviceIndex": "at::DeviceIndex",
    "MemoryFormat": "at::MemoryFormat",
    "QScheme": "at::QScheme",
    "Storage": "at::Storage",
    "Stream": "at::Stream",
}
#: A tensor or optional tensor.
TENSORS = types("Tensor optional<Tensor>")
_BY_REFERENCE = TENSORS | types("Scalar optional<Scalar> List<optional<Tensor>> IListRef<Tensor>")


class DeclaredType(Struct, frozen=True, eq=False):
    """The type of a declaration in generated code; constructed only by the functions below.

    Attributes:
        text: the spelling, ``const at::Tensor &``.
        canonical: the canonical type, or ``UNKNOWN``.
        value: the value of a variable with this type: a const lvalue for ``const at::Tensor &``.
    """

    text: str
    canonical: CppType
    value: Value

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4096)
def declared_type(text: str) -> DeclaredType:
    """The type with a spelling."""
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


TENSOR = declared_type("at::Tensor")
TENSOR_LIST = declared_type("at::TensorList")
BOOL = declared_type("bool")
INT64 = declared_type("int64_t")
SYM_INT = declared_type("c10::SymInt")
SYM_INT_LIST = declared_type("c10::SymIntArrayRef")
_INT_LIST = declared_type("at::IntArrayRef")
#: Lists and optionals with their own names, by element type.
_LISTS = {
    INT64: _INT_LIST,
    SYM_INT: SYM_INT_LIST,
    optional_of(TENSOR): declared_type(f"c10::List<{optional_of(TENSOR)}>"),
}
_OPTIONALS = {
    _INT_LIST: declared_type("at::OptionalIntArrayRef"),
    SYM_INT_LIST: declared_type("at::OptionalSymIntArrayRef"),
}


def base_type(schema_type: Type, *, symint: bool) -> DeclaredType:
    """The C++ type of a schema base type; an unknown one keeps its name."""
    name = str(schema_type)
    if name == "SymInt" and not symint:
        return INT64
    return declared_type(BASE_TYPES.get(name, name))


@lru_cache(maxsize=2048)
def value_type(schema_type: Type, *, symint: bool = True, structured: bool = False) -> DeclaredType:
    """The C++ type of an argument without ``const`` and ``&``, as saved variables are declared.

    Args:
        schema_type: the type in the operator schema.
        symint: whether ``SymInt`` stays ``c10::SymInt`` (else it is ``int64_t``).
        structured: whether the function belongs to a structured group, whose tensor lists are ``ITensorListRef``.
    """
    if not isinstance(schema_type, ListType | OptionalType):
        return base_type(schema_type, symint=symint)
    element = value_type(schema_type.elem, symint=symint, structured=structured)
    if isinstance(schema_type, OptionalType):
        return _OPTIONALS.get(element) or optional_of(element)
    if element is TENSOR:
        return declared_type("at::ITensorListRef") if structured else TENSOR_LIST
    if element is BOOL and schema_type.size is not None:
        return declared_type(f"::std::array<bool,{schema_type.size}>")
    return _LISTS.get(element) or declared_type(f"at::ArrayRef<{element}>")


@lru_cache(maxsize=2048)
def argument_type(
    schema_type: Type, *, write: bool, symint: bool = True, structured: bool = False, const_write: bool = False
) -> DeclaredType:
    """The C++ type of a formal parameter, with its reference and ``const``.

    Follows torchgen/api/cpp.py, ``argument_type``: tensors, scalars, optionals of both and lists of optional tensors
    are passed by reference, everything else by value.

    Args:
        schema_type: the type in the operator schema.
        write: whether the function writes to the argument.
        symint: see :func:`value_type`.
        structured: see :func:`value_type`.
        const_write: whether arguments that are written to are ``const`` nevertheless
            (``use_const_ref_for_mutable_tensors``).
    """
    plain = value_type(schema_type, symint=symint, structured=structured)
    if write and not const_write and plain.canonical in TENSORS:
        return declared_type(f"{TENSOR} &")
    return declared_type(f"const {plain} &") if plain.canonical in _BY_REFERENCE else plain


@lru_cache(maxsize=2048)
def return_type(schema_type: Type) -> DeclaredType:
    """The C++ type of one return, without a reference, as saved outputs are declared.

    Follows torchgen/api/cpp.py, ``returntype_type``, which always keeps ``SymInt``.
    """
    if isinstance(schema_type, ListType):
        return vector_of(return_type(schema_type.elem))
    if isinstance(schema_type, OptionalType):
        return optional_of(return_type(schema_type.elem))
    return base_type(schema_type, symint=True)
