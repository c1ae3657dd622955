"""C++ types that own arguments while the functions of formulas run."""

from __future__ import annotations

import re

#: The C++ type that owns an argument while formulas run, by its schema type; sizes of lists do not matter.
_HOLDERS = {
    "Tensor": "at::Tensor",
    "Tensor?": "std::optional<at::Tensor>",
    "Tensor[]": "std::vector<at::Tensor>",
    "Tensor?[]": "c10::List<std::optional<at::Tensor>>",
    "Scalar": "at::Scalar",
    "Scalar?": "std::optional<at::Scalar>",
    "Scalar[]": "std::vector<at::Scalar>",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "std::vector<int64_t>",
    "int[]?": "c10::OptionalArray<int64_t>",
    "SymInt": "c10::SymInt",
    "SymInt?": "std::optional<c10::SymInt>",
    "SymInt[]": "std::vector<c10::SymInt>",
    "SymInt[]?": "c10::OptionalArray<c10::SymInt>",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "std::vector<double>",
    "float[]?": "c10::OptionalArray<double>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "str": "std::string",
    "str?": "std::optional<std::string>",
    "Generator": "at::Generator",
    "Generator?": "std::optional<at::Generator>",
    "ScalarType": "at::ScalarType",
    "ScalarType?": "std::optional<at::ScalarType>",
    "Layout": "at::Layout",
    "Layout?": "std::optional<at::Layout>",
    "Device": "at::Device",
    "Device?": "std::optional<at::Device>",
    "MemoryFormat": "at::MemoryFormat",
    "MemoryFormat?": "std::optional<at::MemoryFormat>",
}
_SIZE = re.compile(r"\[\d+\]")
_BOOLS = re.compile(r"bool\[(\d+)\]")


def holder(kind: str) -> str | None:
    """Return the C++ type that owns an argument of a schema type, or None if there is none."""
    bools = _BOOLS.fullmatch(kind)
    if bools is not None:
        return f"std::array<bool, {bools[1]}>"
    return _HOLDERS.get(_SIZE.sub("[]", kind))
