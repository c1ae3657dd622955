"""Distinguish a framework's own operators from additions to PyTorch's.

A framework with its own operators uses the format of native_functions.yaml, but has none of PyTorch's operators, types
and helpers; an operator with the name of one of PyTorch's has another meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

from derivlint.schema.native_function import DEFAULT_NAMESPACE, FRAMEWORK, NativeFunction
from derivlint.schema.natives import NativeFunctions
from derivlint.schema.syntax.types import BaseType

#: The minimum number of operators that identify a framework: a single one may be a mistake.
MANY = 2


def is_framework(declared: Sequence[NativeFunction], pytorch: NativeFunctions, *, alone: bool) -> bool:
    """Whether functions belong to a framework other than PyTorch.

    True if several have types that PyTorch lacks, if at least half have the name of a PyTorch operator but another
    schema, or if PyTorch's operators are excluded and no function is one of them.

    Args:
        declared: the functions that the files of native functions declare.
        pytorch: PyTorch's operators.
        alone: whether the files are used without PyTorch's operators.
    """
    if not declared:
        return alone
    if any(function.namespace != DEFAULT_NAMESPACE or function.has_backend_kernel for function in declared):
        # operators with a namespace, or in a group of a back end, are additions to PyTorch
        return False
    own = [function for function in declared if pytorch.by_schema(function.schema_text) is None]
    n_typed = sum(map(_has_own_type, own))
    n_renamed = sum(bool(pytorch.with_base(function.name.base)) for function in own)
    enough = min(MANY, len(declared))
    is_other = n_typed >= enough or (n_renamed >= enough and 2 * n_renamed >= len(declared))
    return is_other or (alone and len(own) == len(declared))


def _has_own_type(function: NativeFunction) -> bool:
    """Whether an argument or a return has a type that PyTorch lacks."""
    schema = function.schema
    types = [argument.type for argument in schema.arguments.flat_all] + [item.type for item in schema.returns]
    return any(isinstance(type.base, BaseType) and not type.base.known for type in types)


def as_framework(functions: Sequence[NativeFunction]) -> None:
    """Move functions to the namespace of frameworks, so that no fact about PyTorch's operators applies to them."""
    for function in functions:
        function.namespace = FRAMEWORK
