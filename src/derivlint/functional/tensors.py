"""Functions of generated code other than operators: metadata of tensors, tangents, running below autograd."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, overload

import torch
from torch import Tensor

Number = int | float | bool | complex


@contextmanager
def below_autograd() -> Iterator[None]:
    """Run operators below autograd, so that only the calling Function is recorded.

    Gradients stay enabled, as in PyTorch's own kernels: ``_sparse_mm_reduce_impl`` computes values for its backward
    function only if they are.
    """
    with torch.enable_grad(), torch._C._AutoDispatchBelowAutograd():
        yield


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """The sizes and options of a tensor, saved to create zeros like it."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    layout: torch.layout
    device: torch.device

    @classmethod
    def of(cls, tensor: Tensor) -> TensorInfo:
        """Return the sizes and options of a tensor."""
        return cls(tuple(tensor.shape), tensor.dtype, tensor.layout, tensor.device)

    def zeros(self) -> Tensor:
        """Return a tensor of zeros like the saved one."""
        return torch.zeros(self.shape, dtype=self.dtype, layout=self.layout, device=self.device)


@dataclass(frozen=True, slots=True)
class TensorGeometry:
    """The geometry of a tensor in its storage; callable with the tensor, as in C++."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    storage_offset: int


def geometry(tensor: Tensor) -> TensorGeometry:
    """The geometry of a tensor."""
    return TensorGeometry(tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset()))


class Duals(list[Tensor]):
    """The primals of a list of tensors and their tangents; missing tangents are zero."""

    def __init__(self, primals: Iterable[Tensor], tangents: Iterable[Tensor | None]) -> None:
        super().__init__(primals)
        self.tangents = [
            torch.zeros_like(primal) if tangent is None else tangent
            for primal, tangent in zip(self, tangents, strict=True)
        ]


@overload
def tangent(value: Tensor | None, primal: Tensor) -> Tensor: ...


@overload
def tangent(value: Tensor | None, primal: Tensor | None) -> Tensor | None: ...


def tangent(value: Tensor | None, primal: Tensor | None) -> Tensor | None:
    """Return a tangent, zeros if missing; None if the argument is None."""
    if value is not None or primal is None:
        return value
    return torch.zeros_like(primal)


def options(tensor: Tensor) -> dict[str, Any]:
    """The options of a tensor as keyword arguments of factory functions."""
    return {"dtype": tensor.dtype, "layout": tensor.layout, "device": tensor.device}


def strides(tensor: Tensor) -> tuple[int, ...]:
    """The strides of a tensor; empty for layouts without strides."""
    return tuple(tensor.stride()) if tensor.layout == torch.strided else ()


def blocksize(tensor: Tensor) -> tuple[int, ...] | None:
    """The block size of a block-sparse tensor; None for other layouts."""
    if tensor.layout not in (torch.sparse_bsr, torch.sparse_bsc):
        return None
    first = tensor.dense_dim()
    shape = tensor.values().shape
    end = len(shape) - first
    return tuple(shape[end - 2 : end])


def memory_format(tensor: Tensor) -> torch.memory_format:
    """The suggested memory format of a tensor."""
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous():
        return torch.channels_last
    if tensor.dim() == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d) and not tensor.is_contiguous():
        return torch.channels_last_3d
    return torch.contiguous_format


def sum_to(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Sum over broadcast dimensions."""
    return tensor.sum_to_size(tuple(shape))


def not_implemented(name: str, reason: str = "") -> Tensor:
    """Refuse a derivative.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(f"the derivative for '{name}' is not implemented." + (f" {reason}" if reason else ""))


def not_implemented_list(name: str, reason: str = "") -> list[Tensor]:
    """Refuse the derivatives of a list.

    Raises:
        NotImplementedError: always.
    """
    return [not_implemented(name, reason)]


def computes(ctx: Any, index: int) -> bool:
    """Whether autograd needs the gradient of an input in this call; ``needs_input_grad`` is only an upper bound.

    Args:
        ctx: the context of ``backward``.
        index: the position of the input.
    """
    if not ctx.needs_input_grad[index]:
        return False
    nodes = [node for node, _ in ctx.next_functions if node is not None]
    try:
        return bool(torch._C._will_engine_execute_node(nodes[sum(ctx.needs_input_grad[:index])]))
    except RuntimeError:
        # a leaf passed to torch.autograd.grad
        return True


def needed(mask: Sequence[bool], *gradients: Any) -> tuple[Any, ...]:
    """Return the gradients of inputs that need them, and None for the others."""
    return tuple(
        gradient if is_needed else [None] * len(gradient) if isinstance(gradient, list) else None
        for is_needed, gradient in zip(mask, gradients, strict=True)
    )


def wrapped(dim: int, ndim: int) -> int:
    """The nonnegative index of a dimension."""
    return dim % ndim if ndim else 0


def wrapped_all(dims: int | Sequence[int] | None, ndim: int) -> list[int]:
    """The nonnegative indices of dimensions; of all dimensions by default."""
    if dims is None:
        return list(range(ndim))
    if isinstance(dims, int):
        dims = [dims]
    return [wrapped(dim, ndim) for dim in dims] or list(range(ndim))


@overload
def handle_r_to_c(dtype: torch.dtype, gradient: Tensor) -> Tensor: ...


@overload
def handle_r_to_c(dtype: torch.dtype, gradient: Tensor | None) -> Tensor | None: ...


def handle_r_to_c(dtype: torch.dtype, gradient: Tensor | None) -> Tensor | None:
    """Return the real part of a gradient if the input is real."""
    if gradient is None:
        return None
    return torch.real(gradient) if gradient.is_complex() and not dtype.is_complex else gradient


def wrap_opt_if(tensor: Tensor, condition: bool) -> Tensor | None:
    """Return a tensor if a condition is true, else None."""
    return tensor if condition else None


def defined(*tensors: Tensor | None) -> bool:
    """Whether any of the tensors is defined."""
    return any(tensor is not None for tensor in tensors)


def added(*terms: Tensor | None) -> Tensor | None:
    """Add the defined terms; None if there are none."""
    total: Tensor | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


def to_sparse_backward(grad: Tensor, self_layout: torch.layout, self_blocksize: Any) -> Tensor:
    """The gradient of ``to_sparse``, in the layout of the input."""
    if self_layout == torch.strided:
        return grad.to_dense()
    if grad.layout == self_layout:
        return grad
    return grad.to_sparse(layout=self_layout, blocksize=self_blocksize)
