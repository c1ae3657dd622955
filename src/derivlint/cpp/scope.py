"""The scope of an expression: variables, and namespaces for unqualified lookup."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from derivlint.cpp.cpp_type import UNKNOWN, CppType, Value
from derivlint.cpp.library import HELPERS

#: The namespaces of unqualified lookup by level, innermost first; the search ends at the first level with the name.
#: Using-directives put several namespaces on one level.
Levels = tuple[tuple[str, ...], ...]

#: The ``apply`` of a node; follows the using-directives of the generated Functions.cpp.
BACKWARD_LEVELS: Levels = (
    ("torch::autograd::generated",),
    ("torch::autograd",),
    ("torch",),
    ("", HELPERS),
)
#: A kernel; follows the generated VariableType.cpp, which has ``using namespace at``.
FORWARD_LEVELS: Levels = (
    ("torch::autograd::VariableType",),
    ("torch::autograd",),
    ("torch",),
    ("", "at", "c10", "torch::autograd::generated", HELPERS),
)


class Scope(Struct, frozen=True):
    """The names that an expression can use without qualification.

    Attributes:
        variables: the variables.
        levels: the namespaces.
        is_complete: whether an undeclared function is an error; otherwise an unknown header may declare it.
        name: the name in messages: ``backward formula`` or ``forward formula``.
    """

    variables: Mapping[str, Value]
    levels: Levels
    name: str
    is_complete: bool = True


@lru_cache(maxsize=2048)
def associated_namespaces(type: CppType) -> frozenset[str]:
    """The associated namespaces of an argument's type; follows [basic.lookup.argdep]."""
    if type is UNKNOWN:
        return frozenset()
    inner = type.innermost
    namespaces = {namespace} if (namespace := _HOME.get(inner.head)) else set()
    for argument in inner.arguments:
        namespaces |= associated_namespaces(argument)
    return frozenset(namespaces)


_HOME = dict.fromkeys(
    [
        "Tensor",
        "TensorBase",
        "TensorGeometry",
        "Generator",
        "Dimname",
        "OptionalTensorRef",
        "DimVector",
        "NamedTensorMeta",
    ],
    "at",
)
_HOME |= dict.fromkeys(
    [
        "Scalar",
        "SymInt",
        "SymFloat",
        "SymBool",
        "ScalarType",
        "Layout",
        "Device",
        "DeviceType",
        "MemoryFormat",
        "TensorOptions",
        "Storage",
        "QScheme",
        "Stream",
        "DispatchKeySet",
        "ArrayRef",
        "OptionalArrayRef",
        "OptionalArray",
        "List",
        "IListRef",
        "complex",
        "SmallVector",
        "SymDimVector",
        "TensorImpl",
    ],
    "c10",
)
_HOME |= dict.fromkeys(
    [
        "optional",
        "vector",
        "array",
        "tuple",
        "pair",
        "string",
        "string_view",
        "initializer_list",
        "nullopt_t",
        "std_complex",
    ],
    "std",
)
_HOME |= {"TypeMeta": "caffe2", "TypeAndSize": "torch::autograd", "Reduction": "at::Reduction"}
_HOME["NestedTensorImpl"] = "at::native"
