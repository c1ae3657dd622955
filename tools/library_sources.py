"""The headers and stub files with the declarations of PyTorch's C++ classes and of the standard library.

``python -m tools.index library`` reads the stub files (``cpp/stubs``) and the headers listed here, and writes the table
that :mod:`derivlint.cpp.library` loads.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from derivlint.cpp import library
from derivlint.cpp.cpp_type import TENSOR, CppType
from derivlint.cpp.declarations.declaration import ClassDeclaration, Declarations, Function
from derivlint.cpp.declarations.header import read_declarations
from derivlint.cpp.operator_signatures import OperatorSignatures
from derivlint.schema import NativeFunctions

STUBS = Path(library.__file__).parent / "stubs"
#: PyTorch's headers that declare classes and functions in formulas.
HEADERS = (
    "ATen/core/TensorBase.h",
    "ATen/core/TensorBody.h",
    "ATen/core/List.h",
    "ATen/core/Reduction.h",
    "ATen/ExpandUtils.h",
    "ATen/Functions.h",
    "ATen/NestedTensorImpl.h",
    "ATen/SparseCsrTensorUtils.h",
    "ATen/TensorGeometry.h",
    "ATen/WrapDimUtils.h",
    "c10/core/Device.h",
    "c10/core/DeviceType.h",
    "c10/core/GradMode.h",
    "c10/core/Layout.h",
    "c10/core/MemoryFormat.h",
    "c10/core/ScalarType.h",
    "c10/core/SymBool.h",
    "c10/core/SymFloat.h",
    "c10/core/SymInt.h",
    "c10/core/TensorImpl.h",
    "c10/core/TensorOptions.h",
    "c10/util/ArrayRef.h",
    "torch/csrc/autograd/VariableTypeUtils.h",
    "torch/headeronly/core/DeviceType.h",
    "torch/headeronly/core/Layout.h",
    "torch/headeronly/core/MemoryFormat.h",
    "torch/headeronly/core/ScalarType.h",
    "torch/headeronly/util/HeaderOnlyArrayRef.h",
)


def read_library(include: Path, natives: NativeFunctions) -> Declarations:
    """Read the declarations of stubs and headers.

    Args:
        include: the folder of PyTorch's headers.
        natives: the operators; their functions and methods are omitted, since schemas declare them.

    Raises:
        OSError: a header is missing.
    """
    read = [(include / name).read_text(encoding="utf-8") for name in HEADERS]
    # stubs come last, because the last declaration of a constant counts
    read += [path.read_text(encoding="utf-8") for path in sorted(STUBS.glob("*.h"))]
    declarations = Declarations().merged(*(read_declarations(text).declarations for text in read))
    signatures = OperatorSignatures(natives)
    classes = dict(declarations.classes)
    classes[TENSOR.text] = _without_operators(classes[TENSOR.text], signatures)
    # a name that a header leaves opaque may be declared in a stub
    opaque = {
        namespace: frozenset(name for name in names if name not in declarations.functions.get(namespace, {}))
        for namespace, names in declarations.opaque.items()
    }
    return replace(declarations, classes=classes, opaque=opaque)


def _without_operators(tensor: ClassDeclaration, signatures: OperatorSignatures) -> ClassDeclaration:
    methods: dict[str, tuple[Function, ...]] = {}
    for name, overloads in tensor.methods.items():
        generated = {_types(function) for function in signatures.methods(name)}
        remaining = tuple(function for function in overloads if _types(function) not in generated)
        if remaining:
            methods[name] = remaining
    return replace(tensor, methods=methods)


def _types(function: Function) -> tuple[CppType, ...]:
    return tuple(parameter.type for parameter in function.parameters)
