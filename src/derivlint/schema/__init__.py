"""Operator schemas and native functions; independent of formulas and derivatives.

Begin with :mod:`derivlint.schema.natives`: ``NativeFunctions`` parses schemas on demand. ``index`` is the operator
index that is shipped; ``difference`` explains how two schemas differ.

    reader   native_functions.yaml; ``families`` relates operators, ``describe`` lists their facts
    syntax   schemas as text and as objects; ``parser`` reads canonical ones with one pattern per argument, and
             everything else with ``grammar/schema.lark``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from derivlint.source.lazy import lazy_exports

if TYPE_CHECKING:
    from derivlint.schema.describe import FunctionFacts, OperatorFacts, describe_operator
    from derivlint.schema.families import ViewGroup
    from derivlint.schema.index import (
        IndexFormatError,
        InstalledTorch,
        available_versions,
        build_index,
        installed_torch,
        load_index,
        read_index,
    )
    from derivlint.schema.native_function import AUTOGRAD_KEYS, NativeFunction, ViewSchemaKind
    from derivlint.schema.natives import NativeFunctions, NativeProblem
    from derivlint.schema.reader import read_native_functions
    from derivlint.schema.syntax.arguments import Annotation, Argument, Arguments, Return, TensorOptionsArguments
    from derivlint.schema.syntax.function_schema import FunctionSchema, SchemaKind
    from derivlint.schema.syntax.names import OperatorName, SchemaError, SchemaMistake
    from derivlint.schema.syntax.parser import parse_schema
    from derivlint.schema.syntax.types import BaseType, CustomClassType, ListType, OptionalType, Type, parse_type

# the result cache needs only a few of these names
__getattr__ = lazy_exports(
    __name__,
    {
        "describe": "FunctionFacts OperatorFacts describe_operator",
        "families": "ViewGroup",
        "index": "IndexFormatError InstalledTorch available_versions build_index installed_torch load_index read_index",
        "native_function": "AUTOGRAD_KEYS NativeFunction ViewSchemaKind",
        "natives": "NativeFunctions NativeProblem",
        "reader": "read_native_functions",
        "syntax.arguments": "Annotation Argument Arguments Return TensorOptionsArguments",
        "syntax.function_schema": "FunctionSchema SchemaKind",
        "syntax.names": "OperatorName SchemaError SchemaMistake",
        "syntax.parser": "parse_schema",
        "syntax.types": "BaseType CustomClassType ListType OptionalType Type parse_type",
    },
)

__all__ = [
    "AUTOGRAD_KEYS",
    "Annotation",
    "Argument",
    "Arguments",
    "BaseType",
    "CustomClassType",
    "FunctionFacts",
    "FunctionSchema",
    "IndexFormatError",
    "InstalledTorch",
    "ListType",
    "NativeFunction",
    "NativeFunctions",
    "NativeProblem",
    "OperatorFacts",
    "OperatorName",
    "OptionalType",
    "Return",
    "SchemaError",
    "SchemaKind",
    "SchemaMistake",
    "TensorOptionsArguments",
    "Type",
    "ViewGroup",
    "ViewSchemaKind",
    "available_versions",
    "build_index",
    "describe_operator",
    "installed_torch",
    "load_index",
    "parse_schema",
    "parse_type",
    "read_index",
    "read_native_functions",
]
