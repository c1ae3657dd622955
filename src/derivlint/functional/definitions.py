"""Evaluation of the reference definitions of helpers over tensors.

Definitions call operators through ``torch.ops.aten``, with the argument order of the C++ functions.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

import derivlint.functional.linalg as linalg
import derivlint.functional.reductions as reductions
import derivlint.functional.shapes as shapes
import derivlint.functional.tensors as tensors
from derivlint.operators.reference.definitions import DefinitionKind, definitions
from derivlint.operators.reference.evaluators import COMPARING
from derivlint.operators.reference.interpretation import Domain, InterpretationError, Interpreter, Primitive


def _unreduced(reduced: Tensor, dims: Any, keepdim: bool = False, rank: int | None = None) -> Tensor:
    if keepdim or dims is None or dims == () or dims == [] or rank == 0:
        return reduced
    reduced_dims = [dims] if isinstance(dims, int) else dims
    total = reduced.dim() + len(reduced_dims) if rank is None else rank
    for dim in sorted(dim % total for dim in reduced_dims):
        reduced = reduced.unsqueeze(dim)
    return reduced


def _count(sizes: Sequence[int], dims: Any, numel: int) -> int:
    if dims is None or dims == () or dims == []:
        return numel
    reduced_dims = [dims] if isinstance(dims, int) else dims
    return math.prod(sizes[dim] for dim in reduced_dims) if sizes else 1


def _size(held: Any, dim: int = 0) -> int:
    return held.size(dim) if isinstance(held, Tensor) else len(held)


def _only(dims: Any) -> Any:
    if isinstance(dims, int):
        return dims
    (dim,) = dims
    return dim


def _refuse(*_: Any) -> Any:
    raise NotImplementedError("this case is not supported")


def _to(tensor: Tensor, options: torch.dtype | dict[str, Any]) -> Tensor:
    if isinstance(options, torch.dtype):
        return tensor.to(options)
    converted: Tensor = torch.ops.aten._to_copy.default(tensor, **options)
    return converted


def _divided(dividend: Any, divisor: Any) -> Any:
    if type(dividend) is int and type(divisor) is int:
        return int(dividend / divisor)
    return dividend / divisor


#: The primitives of definitions, and functions whose argument order differs from PyTorch's.
PRIMITIVES: dict[str, Callable[..., Any]] = {
    "handle_r_to_c": tensors.handle_r_to_c,
    "unreduced": _unreduced,
    "count": _count,
    "sum_over": lambda tensor, dims, keepdim=False: (
        tensor.sum(tensors.wrapped_all(dims, tensor.dim()), bool(keepdim)) if tensor.dim() else tensor.sum()
    ),
    "mean_over": lambda tensor, dims: (
        tensor.mean(tensors.wrapped_all(dims, tensor.dim()), True) if tensor.dim() else tensor.mean()
    ),
    "halves": lambda tensor, dim: tensor.split(tensor.size(dim) // 2, dim)[:2],
    "products_of_others": reductions.products_of_others,
    "other_dims": lambda tensor, dim: [
        position for position in range(tensor.dim()) if position != tensors.wrapped(dim, tensor.dim())
    ],
    "last_dims": lambda sizes: list(range(-len(sizes), 0)),
    "freedom": lambda count, correction: max(0.0, count - float(correction.real)),
    "by_channel": lambda values, tensor: None if values is None else values.reshape([1, -1, *[1] * (tensor.dim() - 2)]),
    "is_vector": lambda matrix, right_side: (
        right_side.dim() == 1 or (matrix.dim() - 1 == right_side.dim() and right_side.shape == matrix.shape[:-1])
    ),
    "only": _only,
    "last_given": lambda first, second=None: first if second is None else second,
    "zeros": lambda sizes, options: torch.zeros(tuple(sizes), **options),
    "full": lambda sizes, value, options: torch.full(tuple(sizes), value, **options),
    "nan_like": lambda tensor: torch.full_like(tensor, math.nan),
    "make_tuple": lambda *items: items,
    "refuse": _refuse,
    "is_number": lambda value: not isinstance(value, Tensor),
    "is_complex_tensor": lambda value: isinstance(value, Tensor) and value.is_complex(),
    "defined": lambda value: value is not None,
    "value_or": lambda value, default: default if value is None else value,
    "equal": operator.eq,
    "conj": lambda value: value.conj() if isinstance(value, Tensor) else value.conjugate(),
    "sizes": lambda tensor: tuple(tensor.shape),
    "numel": lambda tensor: tensor.numel(),
    "dim": lambda tensor: tensor.dim(),
    "scalar_type": lambda tensor: tensor.dtype,
    "options": tensors.options,
    "Tensor": lambda: None,
    "eye": lambda rows, columns, options: torch.eye(rows, columns, **options),
    "zeros_like": lambda tensor, options=None: torch.zeros_like(tensor, **(options or {})),
    "size": _size,
    "sum_to": tensors.sum_to,
    "to": _to,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "!": operator.not_,
    "*": lambda value: value,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    **COMPARING,
    "&": operator.and_,
    "|": operator.or_,
}


def _operator(name: str) -> Callable[..., Any] | None:
    """An operator that takes all arguments by position, or None."""
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return None
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    # the number of positional arguments, and the names of the keyword-only ones
    forms = [
        (
            sum(not argument.kwarg_only for argument in schema.arguments),
            [argument.name for argument in schema.arguments],
        )
        for schema in schemas
    ]

    def call(*arguments: Any) -> Any:
        count = len(arguments)
        if any(positional >= count for positional, _ in forms):
            return packet(*arguments)
        for positional, names in forms:
            if len(names) >= count:
                keywords = dict(zip(names[positional:], arguments[positional:], strict=False))
                return packet(*arguments[:positional], **keywords)
        raise TypeError(f"{name} does not take {count} arguments")

    return call


class Tensors(Domain):
    """The domain of PyTorch tensors and Python numbers."""

    def __init__(self) -> None:
        self.unary = _UNARY
        self.binary = _BINARY

    def primitive(self, name: str) -> Primitive | None:
        """Return the function of a primitive; operators are PyTorch's even if they have a definition."""
        function = PRIMITIVES.get(name) or _written(name)
        if function is not None:
            return Primitive(function)
        definition = definitions().get(name)
        return self.operator(name) if definition is not None and definition.kind is DefinitionKind.OPERATOR else None

    def operator(self, name: str) -> Primitive | None:
        """Return an operator of PyTorch."""
        function = _operator(name)
        return None if function is None else Primitive(function)

    def number(self, text: str) -> Any:
        """Return the value of a C++ number."""
        bare = text.rstrip("uUlLfF")
        return int(bare) if bare.isdecimal() else float(bare)


#: The modules of helpers that are not single expressions.
_WRITTEN = (
    linalg,
    reductions,
    shapes,
    tensors,
)


def _written(name: str) -> Callable[..., Any] | None:
    """Return a helper written in Python, or None."""
    for module in _WRITTEN:
        helper = vars(module).get(name)
        if callable(helper) and helper.__module__ == module.__name__:
            return cast(Callable[..., Any], helper)
    return None


INTERPRETER = Interpreter(Tensors())


def defined_helper(name: str) -> Callable[..., Any]:
    """Return a helper that has a definition.

    Raises:
        AttributeError: it has none.
    """
    definition = definitions().get(name)
    if definition is None or definition.kind is not DefinitionKind.HELPER:
        raise AttributeError(f"module 'derivlint.functional' has no attribute {name!r}")
    try:
        compiled = INTERPRETER.function(name)
    except InterpretationError as error:
        raise AttributeError(str(error)) from error
    assert compiled is not None, "it is defined"
    return compiled.primitive.function
