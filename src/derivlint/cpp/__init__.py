"""C++ types, declarations, lookup and overloads. Knows nothing of the entries of derivatives.yaml."""

from derivlint.cpp.bindings import Binding, cpp_arguments, return_names
from derivlint.cpp.types import argument_type, is_optional_string, return_type, value_type

__all__ = [
    "Binding",
    "argument_type",
    "cpp_arguments",
    "is_optional_string",
    "return_names",
    "return_type",
    "value_type",
]
