"""Derivatives of indexing, joining and rearranging operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from derivlint.functional.tensors import Duals, TensorGeometry, handle_r_to_c, wrapped

T = TypeVar("T")


def reverse_list(items: Sequence[T]) -> list[T]:
    """Reverse a list."""
    return list(reversed(items))


def permute_backwards(grad: Tensor, fwd_dims: Sequence[int]) -> Tensor:
    """The gradient of ``permute``."""
    inverse = [0] * len(fwd_dims)
    for position, dim in enumerate(fwd_dims):
        inverse[wrapped(dim, len(fwd_dims))] = position
    return grad.permute(inverse)


def repeat_backward(grad: Tensor, repeats: Sequence[int], input_shape: Sequence[int]) -> Tensor:
    """The gradient of ``repeat``."""
    if 0 in repeats:
        return grad.new_zeros(tuple(input_shape))
    lead = len(repeats) - len(input_shape)
    summed = list(range(lead))
    shape = list(repeats[:lead])
    for repeat, size in zip(repeats[lead:], input_shape, strict=True):
        summed.append(len(shape))
        shape += [repeat, size]
    out = grad.reshape(shape)
    return out.sum(summed) if summed else out


def _joined(
    grads: Sequence[Tensor | None], sizes: Sequence[int], dim: int, full: Sequence[int], options: Any
) -> Tensor:
    parts = []
    for grad, size in zip(grads, sizes, strict=True):
        shape = list(full)
        shape[dim] = size
        parts.append(torch.zeros(shape, **options) if grad is None else grad)
    return torch.cat(parts, dim)


def split_with_sizes_backward(
    grads: Sequence[Tensor | None], split_sizes: Sequence[int], dim: int, sizes: Sequence[int], options: dict[str, Any]
) -> Tensor:
    """The gradient of ``split_with_sizes``."""
    return _joined(grads, split_sizes, wrapped(dim, len(sizes)), sizes, options)


def split_backward(
    grads: Sequence[Tensor | None], split_size: int, dim: int, sizes: Sequence[int], options: dict[str, Any]
) -> Tensor:
    """The gradient of ``split``."""
    dim = wrapped(dim, len(sizes))
    parts = [split_size] * len(grads)
    parts[-1] = sizes[dim] - split_size * (len(grads) - 1)
    return _joined(grads, parts, dim, sizes, options)


def unbind_backward(grads: Sequence[Tensor | None], dim: int) -> Tensor | None:
    """The gradient of ``unbind``."""
    present = next((grad for grad in grads if grad is not None), None)
    if present is None:
        return None
    return torch.stack([torch.zeros_like(present) if grad is None else grad for grad in grads], dim)


def cat_tensors_backward(
    grad: Tensor | None, sizes: Sequence[Sequence[int]], dtypes: Sequence[torch.dtype], dim: int
) -> list[Tensor | None]:
    """The gradients of ``cat``; empty one-dimensional tensors are skipped."""
    if grad is None:
        return [None] * len(sizes)
    ndim = next((len(shape) for shape in sizes if len(shape) != 1 or shape[0] != 0), 1)
    dim = wrapped(dim, ndim)
    start = 0
    parts: list[Tensor | None] = []
    for shape, dtype in zip(sizes, dtypes, strict=True):
        value = handle_r_to_c(dtype, grad)
        if len(shape) == 1 and shape[0] == 0:
            parts.append(value.new_zeros([0]))
            continue
        parts.append(value.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return parts


def _joined_tangents(tensors: Duals, join: Callable[[list[Tensor]], Tensor]) -> Tensor:
    return join(list(tensors.tangents))


def cat_jvp(tensors: Duals, dim: int) -> Tensor:
    """The tangent of ``cat``."""
    return _joined_tangents(tensors, lambda parts: torch.cat(parts, dim))


def stack_jvp(tensors: Duals, dim: int) -> Tensor:
    """The tangent of ``stack``."""
    return _joined_tangents(tensors, lambda parts: torch.stack(parts, dim))


def block_diag_jvp(tensors: Duals) -> Tensor:
    """The tangent of ``block_diag``."""
    return _joined_tangents(tensors, lambda parts: torch.block_diag(*parts))  # type: ignore[no-untyped-call]  # torch gives it no types


def stack_tensors_backward(grad: Tensor | None, dim: int, dtypes: Sequence[torch.dtype]) -> list[Tensor | None]:
    """The gradients of ``stack``."""
    if grad is None:
        return [None] * len(dtypes)
    return [handle_r_to_c(dtype, grad).select(dim, index) for index, dtype in enumerate(dtypes)]


def block_diag_backward(
    grad: Tensor | None, sizes: Sequence[Sequence[int]], dtypes: Sequence[torch.dtype]
) -> list[Tensor | None]:
    """The gradients of ``block_diag``."""
    if grad is None:
        return [None] * len(sizes)
    parts: list[Tensor | None] = []
    row = column = 0
    for shape, dtype in zip(sizes, dtypes, strict=True):
        rows, columns = {0: (1, 1), 1: (1, shape[-1] if shape else 1)}.get(len(shape), tuple(shape))
        block = handle_r_to_c(dtype, grad).narrow(0, row, rows).narrow(1, column, columns)
        parts.append(block.reshape(tuple(shape)))
        row, column = row + rows, column + columns
    return parts


def _storage_indices(sizes: Sequence[int], strides: Sequence[int], offset: int, like: Tensor) -> Tensor:
    """The storage indices of the elements of a strided tensor."""
    indices = torch.full([], offset, dtype=torch.int64, device=like.device)
    for size, stride in zip(sizes, strides, strict=True):
        indices = indices.unsqueeze(-1) + torch.arange(size, device=like.device) * stride
    return indices


def _extent(geometry: TensorGeometry) -> int:
    if 0 in geometry.sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(geometry.sizes, geometry.strides, strict=True))


def as_strided_backward(
    grad: Tensor,
    input_geometry: TensorGeometry,
    sizes: Sequence[int],
    strides: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """The gradient of ``as_strided``: summed over overlapping outputs, divided among overlapping inputs."""
    base = input_geometry.storage_offset
    offset = base if storage_offset is None else storage_offset
    first = min(base, offset)
    view_geometry = TensorGeometry(tuple(sizes), tuple(strides), offset)
    length = max(_extent(input_geometry) + base, _extent(view_geometry) + offset) - first
    storage = grad.new_zeros([length])
    places = _storage_indices(sizes, strides, offset - first, grad)
    storage = storage.index_add(0, places.reshape(-1), grad.reshape(-1))
    own = _storage_indices(input_geometry.sizes, input_geometry.strides, base - first, grad)
    flat = own.reshape(-1)
    count = grad.new_zeros([length]).index_add(0, flat, torch.ones_like(flat, dtype=grad.dtype))
    return (storage / count.clamp(min=1) if not grad.is_complex() else storage / count.real.clamp(min=1))[flat].reshape(
        input_geometry.sizes
    )


def as_strided_scatter_backward(
    grad: Tensor,
    input_geometry: TensorGeometry,
    src_geometry: TensorGeometry,
    sizes: Sequence[int],
    strides: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """The gradient of ``as_strided_scatter`` for the base: zero where it was overwritten."""
    is_base = torch.ones(1, dtype=torch.bool, device=grad.device).new_empty_strided(
        input_geometry.sizes, input_geometry.strides
    )
    is_base.fill_(True).as_strided(list(sizes), list(strides), storage_offset or 0).fill_(False)
    return grad * is_base


def constant_pad_nd_backward(grad: Tensor, pad: Sequence[int]) -> Tensor:
    """The gradient of ``constant_pad_nd``."""
    return torch.constant_pad_nd(grad, [-width for width in pad], 0)


def _paired(size: int, half: int, factor: float, like: Tensor, dim: int) -> Tensor:
    """The weights of a half spectrum: 2 for frequencies that also represent their negative.

    Frequency zero, and the last one of an even size, represent only themselves.
    """
    factors = torch.ones(half, dtype=like.dtype, device=like.device)
    factors[1 : size - half + 1] = factor
    shape = [1] * like.dim()
    shape[wrapped(dim, like.dim())] = half
    return factors.reshape(shape)


def fft_r2c_backward(
    grad: Tensor, dim: Sequence[int], normalization: int, onesided: bool, last_dim_size: int
) -> Tensor:
    """The gradient of a real-to-complex Fourier transform: the real part of the inverse transform.

    For a half spectrum, it is the complex-to-real transform with weighted frequencies.
    """
    aten = torch.ops.aten
    if not onesided:
        return torch.real(aten._fft_c2c.default(grad, dim, normalization, False))
    halved = grad * _paired(last_dim_size, grad.size(dim[-1]), 0.5, grad, dim[-1])
    out: Tensor = aten._fft_c2r.default(halved, dim, normalization, last_dim_size)
    return out


def fft_c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> Tensor:
    """The gradient of a complex-to-real Fourier transform, whose input is half of a spectrum."""
    out: Tensor = torch.ops.aten._fft_r2c.default(grad, dim, normalization, True)
    return out * _paired(grad.size(dim[-1]), out.size(dim[-1]), 2.0, out, dim[-1])
