"""The signature of an operator in Python: names, types and defaults."""

from __future__ import annotations

import ast

from derivlint.emit.python.spelling import RESERVED, literal, python_name
from derivlint.schema import Argument, FunctionSchema, ListType, NativeFunction, OptionalType, Type

#: The builtins that generated code calls.
CALLED_BUILTINS = frozenset(
    ("any", "bool", "complex", "float", "int", "isinstance", "iter", "len", "list", "map", "next", "range", "tuple")
)
#: Other names that modules import or define for generated code.
_IMPORTED = frozenset(("Any", "Number", "Sequence", "annotations", "once_differentiable"))
#: Python types for the base types of schemas.
TYPES = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "SymBool": "bool",
    "str": "str",
    "Generator": "torch.Generator",
    "ScalarType": "torch.dtype",
    "Layout": "torch.layout",
    "Device": "torch.device",
    "DeviceIndex": "int",
    "MemoryFormat": "torch.memory_format",
    "Dimname": "str",
}
#: Schema defaults that are names.
DEFAULTS = {
    "None": "None",
    "True": "True",
    "False": "False",
    "Mean": "1",
    "Sum": "2",
    "contiguous_format": "torch.contiguous_format",
    "preserve_format": "torch.preserve_format",
    "long": "torch.int64",
    "float": "torch.float32",
    "strided": "torch.strided",
}


def python_type(kind: Type) -> str:
    """The annotation of an argument or a return of a schema's type."""
    if isinstance(kind, OptionalType):
        return f"{python_type(kind.elem)} | None"
    if isinstance(kind, ListType):
        elements = python_type(kind.elem)
        return f"Sequence[{elements}]" if kind.size is None else f"Sequence[{elements}] | {elements}"
    return TYPES.get(str(kind), "Any")


def python_default(text: str) -> str:
    """The Python default of an argument: ``()`` for ``[]``."""
    if text in DEFAULTS:
        return DEFAULTS[text]
    if text.startswith("["):
        items = [item.strip() for item in text[1:-1].split(",") if item.strip()]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return "None"
    return literal(value) if isinstance(value, str) else text


def parameter(argument: Argument) -> str:
    """An argument as a parameter, with annotation and default."""
    text = f"{python_name(argument.name)}: {python_type(argument.type)}"
    return text if argument.default is None else f"{text} = {python_default(argument.default)}"


def parameters(schema: FunctionSchema) -> list[str]:
    """The parameters of an operator's public function."""
    arguments = schema.arguments
    texts = [parameter(argument) for argument in arguments.flat_positional]
    if arguments.flat_kwarg_only:
        texts += ["*", *(parameter(argument) for argument in arguments.flat_kwarg_only)]
    return texts


def return_annotation(schema: FunctionSchema) -> str:
    """The return annotation of an operator."""
    # a Function returns lists of tensors as tuples
    types = [
        "tuple[Tensor, ...]" if isinstance(item.type, ListType) and item.type.is_tensor_like else python_type(item.type)
        for item in schema.returns
    ]
    if not types:
        return "None"
    return types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"


def function_name(function: NativeFunction) -> str:
    """The name of an operator's public function: ``add_Tensor``, ``add__Tensor`` in place; ``complex_`` of ``complex``.

    Names of builtins get an underscore, since generated code calls builtins.
    """
    name = function.name
    text = f"{name.name_without_overload}_{name.overload}" if name.overload else name.name_without_overload
    return f"{text}_" if text in CALLED_BUILTINS or text in _IMPORTED else python_name(text)


def class_name(function: NativeFunction) -> str:
    """The name of an operator's Function: ``AddTensor``, ``AddTensor_`` in place."""
    name = function.name
    inplace = name.name_without_overload.endswith("_") and not name.name_without_overload.endswith("__")
    words = [*name.name_without_overload.strip("_").split("_"), *name.overload.split("_")]
    camel = "".join(word[:1].upper() + word[1:] for word in words if word)
    lead = "_" if name.name_without_overload.startswith("_") else ""
    text = f"{lead}{camel}{'_' if inplace else ''}"
    return f"{text}_" if text in _IMPORTED or text in RESERVED else text
