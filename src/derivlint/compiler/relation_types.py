"""The types whose relations are tabulated: canonical names with their C++ spelling.

They are the types of arguments, saved variables, helpers and results in formulas. Conversions of templates over other
types follow rules (:mod:`derivlint.cpp.expressions.conversion`).
"""

from __future__ import annotations

from derivlint.cpp.cpp_type import CppType, cpp_type, template_type

_PLAIN = {
    "bool": "bool",
    "char": "char",
    "int": "int",
    "int64_t": "int64_t",
    "size_t": "size_t",
    "uint8_t": "uint8_t",
    "float": "float",
    "double": "double",
    "long long": "long long",
    "unsigned int": "unsigned int",
    "complex<double>": "c10::complex<double>",
    "complex<float>": "c10::complex<float>",
    "std_complex<double>": "std::complex<double>",
    "const char*": "const char*",
    "string": "std::string",
    "string_view": "std::string_view",
    "nullptr_t": "std::nullptr_t",
    "nullopt_t": "std::nullopt_t",
    "Tensor": "at::Tensor",
    "TensorBase": "at::TensorBase",
    "Scalar": "at::Scalar",
    "SymInt": "c10::SymInt",
    "SymFloat": "c10::SymFloat",
    "SymBool": "c10::SymBool",
    "ScalarType": "at::ScalarType",
    "Layout": "at::Layout",
    "Device": "at::Device",
    "DeviceType": "c10::DeviceType",
    "MemoryFormat": "at::MemoryFormat",
    "TensorOptions": "at::TensorOptions",
    "TensorGeometry": "at::TensorGeometry",
    "TypeMeta": "caffe2::TypeMeta",
    "Generator": "at::Generator",
    "Storage": "at::Storage",
    "QScheme": "at::QScheme",
    "Stream": "at::Stream",
    "Reduction": "at::Reduction::Reduction",
    "TypeAndSize": "torch::autograd::TypeAndSize",
    "DimVector": "at::DimVector",
    "SymDimVector": "at::SymDimVector",
    "OptionalTensorRef": "at::OptionalTensorRef",
    "NestedTensorImpl*": "at::native::NestedTensorImpl*",
    "IListRef<Tensor>": "at::ITensorListRef",
}
_TEMPLATES = {
    "optional": "std::optional",
    "ArrayRef": "c10::ArrayRef",
    "vector": "std::vector",
    "OptionalArrayRef": "c10::OptionalArrayRef",
    "OptionalArray": "c10::OptionalArray",
    "List": "c10::List",
    "initializer_list": "std::initializer_list",
    "array": "std::array",
    "tuple": "std::tuple",
}
_ELEMENTS = {
    "optional": "Tensor Scalar SymInt int64_t int double bool ScalarType Layout Device MemoryFormat Generator string "
    "string_view Storage ArrayRef<SymInt> ArrayRef<int64_t> ArrayRef<double> ArrayRef<Tensor> vector<int64_t> "
    "vector<SymInt> vector<Tensor>",
    "ArrayRef": "int64_t SymInt Tensor Scalar double bool ScalarType size_t optional<Tensor>",
    "vector": "int64_t SymInt Tensor Scalar bool double ScalarType optional<Tensor> vector<int64_t> vector<SymInt>",
    "OptionalArrayRef": "int64_t SymInt double",
    "OptionalArray": "int64_t SymInt double",
    "List": "Tensor optional<Tensor>",
    "initializer_list": "int64_t",
}
_FIXED = ("array<bool,1>", "array<bool,2>", "array<bool,3>", "tuple<Tensor,Tensor>", "tuple<Tensor,Tensor,Tensor>")


def spelled(type: CppType) -> str:
    """Spell a canonical type in C++."""
    if not type.arguments or type.text in _PLAIN:
        return _PLAIN.get(type.text, type.text)
    return f"{_TEMPLATES[type.head]}<{', '.join(map(spelled, type.arguments))}>"


def relation_types() -> dict[str, str]:
    """Return the spelling of each tabulated type, in the order of the table."""
    templates = (
        template_type(head, [cpp_type(element)]) for head, elements in _ELEMENTS.items() for element in elements.split()
    )
    return _PLAIN | {type.text: spelled(type) for type in (*templates, *map(cpp_type, _FIXED))}
