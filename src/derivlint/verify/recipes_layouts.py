"""Inputs for operators of tensors that are not dense: sparse and nested ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Random = Callable[..., Any]
Recipe = Callable[[Random], dict[str, Any]]


def _coo(r: Random, rows: int = 3, columns: int = 3) -> Any:
    """A sparse matrix with two elements in each row, on and beside the diagonal."""
    import torch

    indices = torch.tensor([[row, (row + more) % columns] for row in range(rows) for more in (0, 1)]).T
    return torch.sparse_coo_tensor(indices, r(2 * rows), (rows, columns)).coalesce()


def _csr(r: Random, rows: int = 3, columns: int = 3) -> Any:
    return _coo(r, rows, columns).to_sparse_csr()


def _nested(r: Random, columns: int = 3) -> Any:
    """Two matrices, one of two rows and one of a single row."""
    import torch

    return torch.nested.as_nested_tensor([r(2, columns), r(1, columns)])


def _twice(tensor: Any) -> Any:
    """The same positions twice, so that they have to be summed up."""
    import torch

    indices, values = tensor.indices(), tensor.values()
    return torch.sparse_coo_tensor(torch.cat([indices, indices], 1), torch.cat([values, values / 2]), tensor.shape)


def _from_dimensions(r: Random) -> dict[str, Any]:
    import torch

    return {
        "sparse_dim": 2,
        "dense_dim": 0,
        "size": [3, 3],
        "indices": torch.tensor([[0, 1, 2], [1, 2, 0]]),
        "values": r(3),
        "dtype": torch.float64,
        "layout": torch.sparse_coo,
        "device": torch.device("cpu"),
    }


def _compressed(r: Random) -> dict[str, Any]:
    import torch

    return {
        "compressed_indices": torch.tensor([0, 1, 2, 3]),
        "plain_indices": torch.tensor([1, 2, 0]),
        "values": r(3),
        "size": [3, 3],
        "dtype": torch.float64,
        "layout": torch.sparse_csr,
        "device": torch.device("cpu"),
    }


def _mask(r: Random) -> dict[str, Any]:
    import torch

    # rows of a mask are true as far as they go
    return {"t": r(2, 3, 4), "mask": torch.tensor([[True, True, False], [True, False, False]])}


def _buffer(r: Random) -> dict[str, Any]:
    import torch

    return {
        "self": r(9),
        "nested_size": torch.tensor([[2, 3], [1, 3]]),
        "nested_strides": torch.tensor([[3, 1], [3, 1]]),
        "offsets": torch.tensor([0, 6]),
    }


def _padded(r: Random) -> dict[str, Any]:
    import torch

    return {"padded": r(2, 2, 3), "cpu_nested_shape_example": torch.tensor([[2, 3], [1, 3]])}


LAYOUTS: dict[str, Recipe] = {
    "_coalesce": lambda r: {"self": _twice(_coo(r))},
    "_sparse_coo_tensor_with_dims_and_tensors": _from_dimensions,
    "_sparse_addmm": lambda r: {"self": r(3, 2), "mat1": _coo(r), "mat2": r(3, 2)},
    "_sparse_mm_reduce_impl": lambda r: {"self": _csr(r), "other": r(3, 2), "reduce": "sum"},
    "_sparse_softmax": lambda r: {"self": _coo(r), "dim": 1, "half_to_float": False},
    "_sparse_log_softmax": lambda r: {"self": _coo(r), "dim": 1, "half_to_float": False},
    "_sparse_sparse_matmul": lambda r: {"self": _coo(r), "other": _coo(r)},
    "_sparse_sum.dim": lambda r: {"self": _coo(r), "dim": [0]},
    "_to_dense": lambda r: {"self": _coo(r)},
    "_to_sparse": lambda r: {"self": r(2, 3)},
    "_to_sparse.sparse_dim": lambda r: {"self": r(2, 3), "sparse_dim": 1},
    "_to_sparse_csr": lambda r: {"self": r(2, 3)},
    "_to_sparse_csc": lambda r: {"self": r(2, 3)},
    "_to_sparse_bsr": lambda r: {"self": r(2, 4), "blocksize": [2, 2]},
    "_to_sparse_bsc": lambda r: {"self": r(2, 4), "blocksize": [2, 2]},
    "sparse_compressed_tensor.comp_plain_value_size": _compressed,
    "sparse_mask": lambda r: {"self": r(3, 3), "mask": _coo(r)},
    "sparse_sampled_addmm": lambda r: {"self": _csr(r), "mat1": r(3, 2), "mat2": r(2, 3)},
    "values": lambda r: {"self": _csr(r)},
    "to_padded_tensor": lambda r: {"self": _nested(r), "padding": 0.5},
    "_nested_tensor_from_mask": _mask,
    "_nested_tensor_from_tensor_list": lambda r: {"list": [r(2, 3), r(1, 3)]},
    "_nested_from_padded": _padded,
    "_nested_view_from_buffer": _buffer,
    "linear": lambda r: {"input": _nested(r), "weight": r(4, 3), "bias": r(4)},
    "matmul": lambda r: {"self": _nested(r), "other": _nested3(r)},
}


def _nested3(r: Random) -> Any:
    import torch

    return torch.nested.as_nested_tensor([r(3, 2), r(3, 2)])
