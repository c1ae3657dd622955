"""Calls in formulas translated to Python: the called operator, and the available helpers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from derivlint.cpp import parameter_type
from derivlint.cpp.cpp_type import CppType
from derivlint.cpp.declarations.declaration import Function
from derivlint.cpp.operator_signatures import OPTIONS
from derivlint.emit.python.spelling import LIBRARY
from derivlint.formula import Call, Expr
from derivlint.operators.reference.definitions import DefinitionKind, definitions
from derivlint.schema import Argument, NativeFunction, NativeFunctions, TensorOptionsArguments
from derivlint.schema.native_function import DEFAULT_NAMESPACE

_PACKAGE = Path(__file__).parent.parent.parent / "functional" / "__init__.py"


@cache
def helper_names() -> frozenset[str]:
    """The helpers in :mod:`derivlint.functional`, hand-written or generated from definitions; torch is not imported."""
    defined = frozenset(name for name, definition in definitions().items() if definition.kind is DefinitionKind.HELPER)
    for node in ast.parse(_PACKAGE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            return defined | frozenset(ast.literal_eval(node.value))
    return defined


def functions_in(text: str) -> tuple[str, ...]:
    """The functions that a Python file defines; the file is not executed.

    Raises:
        SyntaxError: the text is not Python.
    """
    return tuple(node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))


def helper_modules(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """The helpers available in Python, each with the name of its module in generated code.

    Args:
        own: the functions of the author's own modules, with the names of the modules.
    """
    return {**dict.fromkeys(helper_names(), LIBRARY), **(own or {})}


def called_operator(
    node: Call, name: str, receiver: Expr | None, callee: Function | None, natives: NativeFunctions
) -> NativeFunction | None:
    """The operator that a call calls, or None if there is none or it is ambiguous.

    Args:
        node: the call.
        name: the name that is called, without ``_symint``.
        receiver: the object of a method.
        callee: the C++ function, if known.
        natives: the operators.
    """
    variant = "function" if receiver is None else "method"
    candidates = [
        function for function in natives.named(name) if variant in function.variants and not function.schema.is_out
    ]
    # operators outside of PyTorch's C++ API are only known by name there
    if callee is not None and not callee.variadic:
        namespace = callee.operators or DEFAULT_NAMESPACE
        candidates = [
            function
            for function in candidates
            if function.namespace == namespace and _is_for(function, callee, method=receiver is not None)
        ]
        return candidates[0] if candidates else None
    count = len(node.args) + (receiver is not None)
    candidates = [function for function in candidates if _takes(function, count)]
    return candidates[0] if len(candidates) == 1 else None


def _is_for(function: NativeFunction, callee: Function, *, method: bool) -> bool:
    """Whether torchgen generates a C++ function from an operator."""
    own = function.schema.arguments.self_arg if method else None
    every = function.schema.arguments
    # functions for custom operators take dtype, layout and device separately
    listed = every.non_out if function.namespace == DEFAULT_NAMESPACE else every.flat_non_out
    arguments = [argument for argument in listed if argument is not own]
    if len(arguments) != len(callee.parameters):
        return False
    for argument, parameter in zip(arguments, callee.parameters, strict=True):
        if isinstance(argument, TensorOptionsArguments):
            if parameter.type is not OPTIONS:
                return False
        elif argument.name != parameter.name or parameter.type not in _types(argument, function):
            return False
    return True


def _types(argument: Argument, function: NativeFunction) -> set[CppType]:
    """The C++ types of an argument, with and without symbolic sizes."""
    return {parameter_type(argument, function, symint=symint).canonical for symint in (False, True)}


def _takes(function: NativeFunction, count: int) -> bool:
    """Whether an operator's C++ function accepts a number of arguments, including the object."""
    arguments = function.schema.arguments.non_out
    required = sum(isinstance(item, TensorOptionsArguments) or item.default is None for item in arguments)
    return required <= count <= len(arguments)
