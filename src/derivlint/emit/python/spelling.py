"""How names, numbers and operators of C++ are spelt in Python."""

from __future__ import annotations

import keyword

from derivlint.formula import Number
from derivlint.schema import NativeFunction, TensorOptionsArguments

#: What generated code calls :mod:`derivlint.functional`.
LIBRARY = "F"
#: The function that makes the outputs of an operator raise when they are differentiated.
RECORDED = "not_differentiable"
#: What generated code calls by these names.
RESERVED = frozenset({"torch", "math", "aten", LIBRARY, "ctx", "Tensor"})
#: The parameter that stands for dtype, layout, device and pin_memory.
OPTIONS = "options"


def python_name(name: str) -> str:
    """The name of a C++ variable in Python: ``from`` becomes ``from_``."""
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def operator_parameters(function: NativeFunction, *, method: bool) -> list[str]:
    """The parameters of an operator's C++ function in order, those of tensor options as one."""
    own = function.schema.arguments.self_arg if method else None
    names = []
    for argument in function.schema.arguments.non_out:
        if isinstance(argument, TensorOptionsArguments):
            names.append(OPTIONS)
        elif argument is not own:
            names.append(argument.name)
    return names


def packet(function: NativeFunction) -> str:
    """An operator as Python calls it, ``aten.add.Tensor``."""
    name = function.name
    owner = "aten" if function.namespace == "aten" else f"torch.ops.{function.namespace}"
    overload = name.overload or "default"
    if keyword.iskeyword(overload):
        return f'getattr({owner}.{name.name_without_overload}, "{overload}")'
    return f"{owner}.{name.name_without_overload}.{overload}"


def recorded(function: NativeFunction) -> str:
    """An operator whose outputs raise when they are differentiated, unless it has an autograd kernel."""
    return f"{LIBRARY}.{RECORDED}({packet(function)})"


def qualified(function: NativeFunction) -> str:
    """The name of an operator as :mod:`torch.library` knows it."""
    return f"{function.namespace}::{function.name}"


def literal(text: str) -> str:
    """A text as a Python string, in the quotes that need no escapes."""
    escaped = text.encode("unicode_escape").decode("ascii")
    if '"' in escaped and "'" not in escaped:
        return f"'{escaped}'"
    return '"' + escaped.replace('"', '\\"') + '"'


def number(node: Number) -> str:
    """A C++ number in Python: ``1e-5f`` is ``1e-5``, ``0.`` is ``0.0``."""
    text = node.text.replace("'", "")
    if text.lower().startswith("0x"):
        return text.rstrip("uUlL")
    text = text.rstrip("uUlLfF")
    if text.startswith("."):
        text = f"0{text}"
    mantissa, exponent, rest = text.partition("e")
    if mantissa.endswith("."):
        mantissa += "0"
    return mantissa + exponent + rest
