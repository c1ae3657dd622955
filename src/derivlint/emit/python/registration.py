"""The limits of :mod:`torch.library`: the operators that it can define and differentiate.

Follows ``torch.library.register_autograd``, ``torch/_library/autograd.py`` and the parser of schemas
(torch/csrc/jit/frontend), which differs from torchgen's; a test compares with the installed ones.
"""

from __future__ import annotations

import re

from derivlint.emit.own_operators import undifferentiable_reason
from derivlint.emit.selection import ATEN
from derivlint.schema import Argument, BaseType, FunctionSchema, NativeFunction, Return, SchemaKind, Type

#: The keywords of the schema parser.
_KEYWORDS = frozenset(
    (
        *("False", "None", "NoneType", "True", "and", "as", "assert", "break", "class", "continue", "def", "del"),
        *("elif", "else", "for", "global", "if", "import", "in", "is", "not", "or", "pass", "raise", "return"),
        *("while", "with"),
    )
)
_RESERVED_NAMESPACES = frozenset({"prim", "_"})
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?j?", re.IGNORECASE | re.ASCII)


def refusal(function: NativeFunction) -> str | None:
    """The reason why an operator cannot be registered, or None if it can be."""
    return _of_name(function) or undifferentiable_reason(function) or _of_schema(function.schema)


def _of_name(function: NativeFunction) -> str | None:
    if function.namespace == ATEN:
        return 'it is in the namespace "aten", where PyTorch has its own operators'
    if function.namespace in _RESERVED_NAMESPACES:
        return f'torch.library reserves the namespace "{function.namespace}"'
    name = function.name
    overload = name.overload
    if overload == "default" or overload.startswith("__"):
        return f'torch.library does not take "{overload}" as the name of an overload'
    items: list[Argument | Return] = [*function.schema.arguments.flat_all, *function.schema.returns]
    for word in (name.name_without_overload, overload, *(item.name or "" for item in items)):
        if word in _KEYWORDS:
            return f'torch.library does not take "{word}" as a name: it is a word of its schemas'
    return None


def _of_schema(schema: FunctionSchema) -> str | None:
    arguments = schema.arguments
    items: list[Argument | Return] = [*arguments.flat_all, *schema.returns]
    if schema.kind is not SchemaKind.inplace and any(item.annotation is not None for item in items):
        return "it returns a view of an argument: return a copy, or call an operator of PyTorch that returns the view"
    if not schema.returns:
        return "it returns nothing"
    for item in items:
        if _is_unknown(item.type):
            return f'torch.library does not know the type "{item.type}"'
    return _of_defaults(schema)


def _of_defaults(schema: FunctionSchema) -> str | None:
    has_default = False
    for item in schema.arguments.flat_positional:
        if item.default is None and has_default:
            return f'"{item.name}" has no default, and an argument before it has one'
        has_default |= item.default is not None
    for item in schema.arguments.flat_all:
        kind = str(item.type).removesuffix("?")
        is_number = item.default in (None, "None") or _NUMBER.fullmatch(item.default or "") is not None
        if kind == "float" and not is_number:
            return f'torch.library does not take the default "{item.default}" of "{item.name}"'
    return None


def _is_unknown(kind: Type) -> bool:
    """Whether a schema with a type cannot be parsed; classes only exist if a library registers them."""
    outer = kind.is_list_like
    return not isinstance(kind.base, BaseType) or (outer is not None and outer.elem.is_list_like is not None)
