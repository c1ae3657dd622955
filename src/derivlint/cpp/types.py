"""The C++ types that the generated code gives to arguments and returns, spelled as PyTorch spells them.

Follows torchgen/api/cpp.py (``argumenttype_type``, ``returntype_type``) and torchgen/api/types.
"""

from __future__ import annotations

from functools import cache

from derivlint.schema import BaseType, CustomClassType, ListType, OptionalType, Type

#: C++ names of the base types that are passed by value or by reference as they are.
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

TENSOR = "at::Tensor"
TENSOR_LIST = "at::TensorList"
TENSOR_VECTOR = "::std::vector<at::Tensor>"
OPTIONAL_STRING = "::std::optional<c10::string_view>"


def optional_of(element: str) -> str:
    """The C++ optional of a type."""
    return f"::std::optional<{element}>"


def base_type(schema_type: Type, *, symint: bool) -> str:
    """The C++ name of a base type; an unknown one keeps its own name."""
    name = str(schema_type)
    if name == "SymInt" and not symint:
        return "int64_t"
    return BASE_TYPES.get(name, name)


@cache
def value_type(schema_type: Type, *, symint: bool = True, structured: bool = False) -> str:
    """The C++ type of an argument without ``const`` and ``&``: what a saved variable of it is declared as.

    Args:
        schema_type: the type in the operator schema.
        symint: whether ``SymInt`` stays ``c10::SymInt`` (else it is ``int64_t``).
        structured: whether the function belongs to a structured group, whose tensor lists are ``ITensorListRef``.
    """
    if isinstance(schema_type, BaseType | CustomClassType):
        return base_type(schema_type, symint=symint)
    if isinstance(schema_type, OptionalType):
        element = schema_type.elem
        if isinstance(element, ListType):
            inner = str(element.elem)
            if inner == "int" or (inner == "SymInt" and not symint):
                return "at::OptionalIntArrayRef"
            if inner == "SymInt":
                return "at::OptionalSymIntArrayRef"
        return optional_of(value_type(element, symint=symint, structured=structured))
    if isinstance(schema_type, ListType):
        return _list_type(schema_type, symint=symint, structured=structured)
    return str(schema_type)


def _list_type(schema_type: ListType, *, symint: bool, structured: bool) -> str:
    inner = str(schema_type.elem)
    if inner == "bool" and schema_type.size is not None:
        return f"::std::array<bool,{schema_type.size}>"
    if inner == "int" or (inner == "SymInt" and not symint):
        return "at::IntArrayRef"
    if inner == "SymInt":
        return "c10::SymIntArrayRef"
    if inner == "Tensor":
        return "at::ITensorListRef" if structured else TENSOR_LIST
    if inner == "Tensor?":
        return f"c10::List<{optional_of(TENSOR)}>"
    return f"at::ArrayRef<{value_type(schema_type.elem, symint=symint, structured=structured)}>"


def is_optional_string(cpp_type: str) -> bool:
    """Whether a saved variable of this type is a ``std::string`` that formulas need as a ``string_view``."""
    return cpp_type == OPTIONAL_STRING


@cache
def argument_type(
    schema_type: Type, *, write: bool, symint: bool = True, structured: bool = False, const_write: bool = False
) -> str:
    """The C++ type of a formal parameter, with its reference and ``const``.

    Follows torchgen/api/cpp.py, ``argument_type``: tensors, scalars, optionals of both and lists of optional tensors
    are passed by reference, everything else by value.

    Args:
        schema_type: the type in the operator schema.
        write: whether the function writes to the argument.
        symint: see :func:`value_type`.
        structured: see :func:`value_type`.
        const_write: whether the function takes what it writes to as ``const`` nevertheless
            (``use_const_ref_for_mutable_tensors``).
    """
    plain = value_type(schema_type, symint=symint, structured=structured)
    text = str(schema_type)
    if write and not const_write and text in ("Tensor", "Tensor?"):
        return f"{TENSOR} &"
    by_reference = text in ("Tensor", "Scalar", "Tensor?", "Scalar?", "Tensor?[]")
    if by_reference or plain == "at::ITensorListRef":
        return f"const {plain} &"
    return plain


@cache
def return_type(schema_type: Type) -> str:
    """The C++ type of one return, without a reference: what a saved output of it is declared as.

    Follows torchgen/api/cpp.py, ``returntype_type``, which keeps ``SymInt`` whatever the call asks for.
    """
    if isinstance(schema_type, ListType):
        return f"::std::vector<{return_type(schema_type.elem)}>"
    if isinstance(schema_type, OptionalType):
        return optional_of(return_type(schema_type.elem))
    return base_type(schema_type, symint=True)
