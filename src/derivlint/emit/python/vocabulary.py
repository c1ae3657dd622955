"""The Python names of C++ names, methods and operators."""

from __future__ import annotations

from enum import IntEnum

from derivlint.operators import Book


class Precedence(IntEnum):
    """How strongly Python's operators bind."""

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

#: Layouts and formats of memory.
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
#: Casts, as types and as methods of numbers, and the Python types that they give.
CASTS = {
    **dict.fromkeys(("double", "float", "toDouble", "toFloat"), "float"),
    **dict.fromkeys(("int64_t", "int", "long", "SymInt", "toLong", "toInt", "guard_int"), "int"),
    **dict.fromkeys(("toComplexDouble",), "complex"),
    **dict.fromkeys(("bool", "toBool"), "bool"),
}
#: Types whose constructors hand over what they are given; they are empty without an argument.
WRAPPERS = frozenset(
    ("optional", "vector", "ArrayRef", "IntArrayRef", "SymIntArrayRef", "OptionalArrayRef", "Scalar", "TensorList")
)
EMPTY_OF = dict.fromkeys(("vector", "ArrayRef", "IntArrayRef", "SymIntArrayRef", "TensorList"), "[]")
#: The properties that are saved of every tensor of a list.
LIST_PROPERTIES = {
    "to_args_sizes": "tuple(each.shape)",
    "to_args_sizes_symint": "tuple(each.shape)",
    "to_args_scalartypes": "each.dtype",
}
#: The functions by which kernels save properties, and their Python helpers.
SAVED_BY = {"TensorGeometry": "geometry", "strides_or_error": "strides", "getSymIntBlockSize": "blocksize"}
#: Functions over numbers.
MATH = frozenset({"sqrt", "exp", "log", "pow", "sin", "cos", "tan", "log2", "log10", "floor", "ceil"})
#: Methods of tensors without arguments that Python has as attributes.
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
#: Methods that Python knows under the same or another name, whatever they belong to.
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
