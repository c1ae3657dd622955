"""The vocabulary of formulas other than functions: constants, saved properties, metadata, C++ operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache

from derivlint.analysis.scalar_evaluation.functions.structure import zeros_like
from derivlint.analysis.scalar_evaluation.values import (
    COMPLEX,
    INTEGER,
    JAGGED,
    OPAQUE,
    REAL,
    SIZES,
    UnknownValueError,
    Value,
    divided,
    real_only,
    scalar_type,
)
from derivlint.operators.reference.evaluators import COMPARING

#: The variable for whether gradients are recorded.
GRAD_MODE = "GradMode::is_enabled()"

#: The dtypes and layouts in formulas.
TYPES: dict[str, Value] = {"kFloat": REAL, "kDouble": REAL, "kLong": INTEGER, "kJagged": JAGGED}

#: Saved properties of a variable, by the suffix of their names.
PROPERTIES: dict[str, Callable[[Value], Value]] = {
    "_sym_sizes": lambda _: SIZES,
    "_sym_sizes_opt": lambda _: SIZES,
    "_sym_strides": lambda _: SIZES,
    "_options": scalar_type,
    "_scalar_type": scalar_type,
    "_info": lambda value: value,
    "_numel": lambda _: 1,
    "_sym_numel": lambda _: 1,
    "_dim": lambda _: 1,
    "_geometry": lambda _: OPAQUE,
    "_layout": lambda _: OPAQUE,
    "_conjugate": lambda _: False,
}
#: Longest first, since some suffixes end with others.
SUFFIXES = tuple(sorted(PROPERTIES, key=len, reverse=True))
SIZE = "_sym_argsize_"

#: Methods that read metadata, regardless of their arguments.
METADATA: dict[str, Callable[[Value], Value]] = {
    "scalar_type": scalar_type,
    "dtype": scalar_type,
    "options": scalar_type,
    "sym_sizes": lambda _: SIZES,
    "sizes": lambda _: SIZES,
    "sym_strides": lambda _: SIZES,
    "strides": lambda _: SIZES,
    "sym_size": lambda _: 1,
    "size": lambda value: len(value) if isinstance(value, tuple) else 1,
    "sym_numel": lambda _: 1,
    "numel": lambda _: 1,
    "dim": lambda _: 1,
    "is_complex": lambda value: scalar_type(value) is COMPLEX,
    "isComplex": lambda value: scalar_type(value) is COMPLEX,
    "is_contiguous": lambda _: True,
    "is_cpu": lambda _: True,
    "is_cuda": lambda _: False,
    "is_xpu": lambda _: False,
    "is_sparse": lambda _: False,
    "is_mkldnn": lambda _: False,
    "device": lambda _: OPAQUE,
    "layout": lambda _: OPAQUE,
    "suggest_memory_format": lambda _: OPAQUE,
    "defined": lambda value: value is not None,
    "has_value": lambda value: value is not None,
    "zeros": lambda value: zeros_like(value),
    "new_zeros": lambda value: zeros_like(value),
    "detach": lambda value: value,
}
#: Methods and functions that convert C++ numbers.
NUMBERS: dict[str, Callable[[Value], Value]] = {
    "toDouble": real_only,
    "toFloat": real_only,
    "toComplexDouble": complex,
    "double": real_only,
    "float": real_only,
    "Scalar": lambda value: value,
    "SymInt": lambda value: value,
}
#: Functions that create tensors of given sizes; the value is that of the elements.
CREATED = {"zeros": 0.0, "ones": 1.0}
EMPTY = ("Tensor", "optional", "tuple")


@lru_cache(maxsize=4096)
def saved_property(name: str) -> tuple[str, Callable[[Value], Value] | None]:
    """The variable of a saved property and the function that reads the property."""
    suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), None)
    if suffix is not None:
        return name.removesuffix(suffix), PROPERTIES[suffix]
    owner, separator, _ = name.partition(SIZE)
    return (owner, lambda _: 1) if separator else (name, None)


def present(value: Value) -> Value:
    """Unwrap an optional."""
    if value is None:
        raise UnknownValueError
    return value


# ---- operators


def _multiply(left: Value, right: Value) -> Value:
    if type(left) is not float and (isinstance(left, (str, tuple)) or isinstance(right, (str, tuple))):
        # in Python, a tuple times a number is repetition
        raise UnknownValueError
    return left * right


def _divide(left: Value, right: Value) -> Value:
    if type(left) is int and type(right) is int:
        return int(left / right)
    return divided(left, right)


def _not(value: Value) -> Value:
    if type(value) is not bool:
        raise UnknownValueError
    return not value


def _masks(operate: Callable[[bool, bool], bool]) -> Callable[[Value, Value], Value]:
    def function(left: Value, right: Value) -> Value:
        if type(left) is not bool or type(right) is not bool:
            raise UnknownValueError
        return operate(left, right)

    return function


UNARY: dict[str, Callable[[Value], Value]] = {
    "-": operator.neg,
    "+": lambda value: value,
    "!": _not,
    "~": _not,
    "*": present,
}
BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": _multiply,
    "/": _divide,
    **COMPARING,
    "&": _masks(operator.and_),
    "|": _masks(operator.or_),
    "^": _masks(operator.xor),
}
