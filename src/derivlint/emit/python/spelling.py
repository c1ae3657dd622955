"""Python spellings of C++ names, numbers and operators."""

from __future__ import annotations

import keyword
from enum import IntEnum

from derivlint.formula import Number
from derivlint.operators import Book
from derivlint.schema import NativeFunction, TensorOptionsArguments

#: The name of :mod:`derivlint.functional` in generated code.
LIBRARY = "F"
#: The function whose outputs raise when they are differentiated.
RECORDED = "not_differentiable"
#: Names that generated code uses itself.
RESERVED = frozenset({"torch", "math", "aten", LIBRARY, "ctx", "Tensor"})
#: The parameter that combines dtype, layout, device and pin_memory.
OPTIONS = "options"


def python_name(name: str) -> str:
    """The name of a C++ variable in Python: ``from`` becomes ``from_``."""
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def operator_parameters(function: NativeFunction, *, method: bool) -> list[str]:
    """The parameters of an operator's C++ function in order, tensor options as one."""
    own = function.schema.arguments.self_arg if method else None
    names = []
    for argument in function.schema.arguments.non_out:
        if isinstance(argument, TensorOptionsArguments):
            names.append(OPTIONS)
        elif argument is not own:
            names.append(argument.name)
    return names


def packet(function: NativeFunction) -> str:
    """The operator overload in Python, ``aten.add.Tensor``."""
    name = function.name
    owner = "aten" if function.namespace == "aten" else f"torch.ops.{function.namespace}"
    overload = name.overload or "default"
    if keyword.iskeyword(overload):
        return f'getattr({owner}.{name.name_without_overload}, "{overload}")'
    return f"{owner}.{name.name_without_overload}.{overload}"


def recorded(function: NativeFunction) -> str:
    """The operator, wrapped so that differentiating its outputs raises unless it has an autograd kernel."""
    return f"{LIBRARY}.{RECORDED}({packet(function)})"


def qualified(function: NativeFunction) -> str:
    """The qualified name of an operator in :mod:`torch.library`."""
    return f"{function.namespace}::{function.name}"


def literal(text: str) -> str:
    """A text as a Python string, with the quotes that need no escapes."""
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


class Precedence(IntEnum):
    """The precedence of Python's operators."""

    LOWEST = 0
    CONDITIONAL = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARISON = 5
    BIT_OR = 6
    BIT_XOR = 7
    BIT_AND = 8
    SHIFT = 9
    SUM = 10
    PRODUCT = 11
    UNARY = 12
    ATOM = 14


BINARY: dict[str, tuple[str, Precedence]] = {
    "||": ("or", Precedence.OR),
    "&&": ("and", Precedence.AND),
    **{op: (op, Precedence.COMPARISON) for op in ("==", "!=", "<", "<=", ">", ">=")},
    "|": ("|", Precedence.BIT_OR),
    "^": ("^", Precedence.BIT_XOR),
    "&": ("&", Precedence.BIT_AND),
    "<<": ("<<", Precedence.SHIFT),
    ">>": (">>", Precedence.SHIFT),
    "+": ("+", Precedence.SUM),
    "-": ("-", Precedence.SUM),
    "*": ("*", Precedence.PRODUCT),
    "/": ("/", Precedence.PRODUCT),
    "%": ("%", Precedence.PRODUCT),
}

#: Layouts and memory formats.
NAMES = {
    "kStrided": "torch.strided",
    "kSparse": "torch.sparse_coo",
    "kSparseCsr": "torch.sparse_csr",
    "kJagged": "torch.jagged",
    "MemoryFormat::Contiguous": "torch.contiguous_format",
    "MemoryFormat::Preserve": "torch.preserve_format",
}
#: Methods that test for presence.
PREDICATES = frozenset({"defined", "has_value"})
#: Casts, as types and as methods of numbers, with their Python types.
CASTS = {
    **dict.fromkeys(("double", "float", "toDouble", "toFloat"), "float"),
    **dict.fromkeys(("int64_t", "int", "long", "SymInt", "toLong", "toInt", "guard_int"), "int"),
    **dict.fromkeys(("toComplexDouble",), "complex"),
    **dict.fromkeys(("bool", "toBool"), "bool"),
}
#: Types whose constructors return their argument, or an empty value.
WRAPPERS = frozenset(
    ("optional", "vector", "ArrayRef", "IntArrayRef", "SymIntArrayRef", "OptionalArrayRef", "Scalar", "TensorList")
)
EMPTY_OF = dict.fromkeys(("vector", "ArrayRef", "IntArrayRef", "SymIntArrayRef", "TensorList"), "[]")
#: The saved properties of the tensors of a list.
LIST_PROPERTIES = {
    "to_args_sizes": "tuple(each.shape)",
    "to_args_sizes_symint": "tuple(each.shape)",
    "to_args_scalartypes": "each.dtype",
}
#: The functions by which kernels save properties, with their Python helpers.
SAVED_BY = {"TensorGeometry": "geometry", "strides_or_error": "strides", "getSymIntBlockSize": "blocksize"}
#: Functions of numbers.
MATH = frozenset({"sqrt", "exp", "log", "pow", "sin", "cos", "tan", "log2", "log10", "floor", "ceil"})
#: Tensor methods without arguments that are attributes in Python.
PROPERTIES = {
    "sym_sizes": "shape",
    "sizes": "shape",
    "scalar_type": "dtype",
    "dtype": "dtype",
    "layout": "layout",
    "device": "device",
    "is_cuda": "is_cuda",
    "is_sparse": "is_sparse",
    "is_mkldnn": "is_mkldnn",
    "is_nested": "is_nested",
    "requires_grad": "requires_grad",
    "mT": "mT",
    "mH": "mH",
}
#: Methods with a Python counterpart, for any receiver.
METHODS = {
    "dim": "dim",
    "sym_size": "size",
    "size": "size",
    "numel": "numel",
    "sym_numel": "numel",
    "is_conj": "is_conj",
    "is_complex": "is_complex",
    "is_contiguous": "is_contiguous",
    "zeros": "zeros",
    "item": "item",
    "sym_storage_offset": "storage_offset",
}
#: Methods of C++ tensors that are not methods in Python.
NO_METHOD = Book.by_hand("cpp-method-only")
