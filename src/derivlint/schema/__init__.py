"""Operator schemas and native functions. Knows nothing about formulas or derivatives.

Begin with :mod:`derivlint.schema.natives`: ``NativeFunctions`` parses schemas on demand. ``parser`` reads canonical
schemas with one pattern per argument and everything else with ``grammar/schema.lark``; ``index`` is the operator index
that is shipped; ``difference`` explains how two schemas differ.
"""

from derivlint.schema.arguments import Annotation, Argument, Arguments, Return, TensorOptionsArguments
from derivlint.schema.describe import FunctionFacts, OperatorFacts, describe_operator
from derivlint.schema.dispatch import AUTOGRAD_KEYS
from derivlint.schema.errors import SchemaError
from derivlint.schema.families import ViewGroup
from derivlint.schema.function_schema import FunctionSchema, SchemaKind
from derivlint.schema.index import IndexFormatError, available_versions, build_index, load_index, read_index
from derivlint.schema.installed import InstalledTorch, installed_torch
from derivlint.schema.names import OperatorName
from derivlint.schema.native_function import NativeFunction, ViewSchemaKind
from derivlint.schema.natives import NativeFunctions, NativeProblem
from derivlint.schema.parser import parse_schema
from derivlint.schema.reader import read_native_functions
from derivlint.schema.types import BaseType, CustomClassType, ListType, OptionalType, Type, parse_type

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
