"""Tensors of other layouts as vectors of their values: sparse, nested and oneDNN tensors.

A sparse tensor varies in the values at its own positions only, which is what PyTorch calls masked semantics, and a
nested one in the elements of its components.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Maps the values of a tensor, as a dense tensor.
Change = Callable[[Any], Any]


def is_plain(tensor: Any) -> bool:
    """Whether a tensor is dense."""
    import torch

    return bool(tensor.layout == torch.strided) and not tensor.is_nested


def changed(tensor: Any, change: Change) -> Any:
    """Change the values of a tensor of any layout; a sparse tensor keeps its indices.

    Args:
        tensor: a tensor of any layout.
        change: maps the values, as a dense tensor, to others of the same shape.
    """
    import torch

    if tensor.is_nested:
        return torch.nested.as_nested_tensor([change(part) for part in tensor.unbind()])
    if tensor.layout == torch.strided:
        return change(tensor)
    if tensor.is_mkldnn:
        return change(tensor.to_dense()).to_mkldnn()
    if tensor.layout == torch.sparse_coo:
        made = torch.sparse_coo_tensor(tensor._indices(), change(tensor._values()), tensor.shape)
        return made._coalesced_(tensor.is_coalesced())
    by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    indices = (
        (tensor.crow_indices(), tensor.col_indices()) if by_rows else (tensor.ccol_indices(), tensor.row_indices())
    )
    return torch.sparse_compressed_tensor(*indices, change(tensor.values()), tensor.shape, layout=tensor.layout)


def numbers(tensor: Any) -> list[Any]:
    """The values of a tensor as dense tensors: those at its indices for a sparse one."""
    import torch

    if tensor.is_nested:
        return list(tensor.unbind())
    if tensor.layout == torch.strided:
        return [tensor]
    if tensor.is_mkldnn:
        return [tensor.to_dense()]
    return [tensor._values() if tensor.layout == torch.sparse_coo else tensor.values()]


def has_finite_numbers(tensor: Any) -> bool:
    """Whether a tensor is defined and has only finite values."""
    return tensor is not None and all(bool(part.isfinite().all()) for part in numbers(tensor))


def has_same_numbers(one: Any, another: Any) -> bool:
    """Whether two dense tensors have the same shape and values, with NaN in the same places."""
    import torch

    if one.shape != another.shape:
        return False
    return torch.equal(one, another) or bool(((one == another) | ((one != one) & (another != another))).all())


def dense(tensor: Any) -> Any:
    """Convert a tensor to a dense one; missing elements of a nested tensor are zero."""
    import torch

    if tensor.is_nested:
        return torch.nested.to_padded_tensor(tensor, 0.0)
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def moved(tensor: Any, direction: Any, step: float) -> Any:
    """A tensor after a step along a direction that :func:`changed` returned."""
    if is_plain(tensor):
        return tensor + step * direction
    parts = iter(numbers(direction))
    return changed(tensor, lambda values: values + step * next(parts))


def inner_product(first: Any, second: Any) -> float:
    """The real part of the inner product of two tensors of any layout."""
    dense_first, dense_second = dense(first.detach()), dense(second.detach())
    return float((dense_first.conj() * dense_second).real.sum())
