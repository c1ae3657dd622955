"""Operators of matrices and batches that have a definition compute what PyTorch's own compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from derivlint.functional.definitions import INTERPRETER
from derivlint.operators.definitions import FOLDER, Kind, read_definitions

FILES = ("linear_algebra", "normalization", "products", "reductions", "shapes")
OPERATORS = sorted(
    each.name
    for file in FILES
    for each in read_definitions((FOLDER / f"{file}.txt").read_text(encoding="utf-8"))
    if each.kind is Kind.OPERATOR
)
#: Operators that the processor has no kernel for, or only for sparse and nested tensors.
NOT_CALLED = frozenset(
    {
        *("_sparse_log_softmax", "_sparse_log_softmax_backward_data", "_sparse_softmax"),
        *("_sparse_softmax_backward_data", "cudnn_batch_norm", "linear_backward", "matmul_backward"),
    }
)


def tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.1


def positive(size: int) -> Tensor:
    """A positive definite matrix."""
    matrix = tensor(2, size, size)
    return matrix @ matrix.mT + torch.eye(size, dtype=torch.float64)


def statistics() -> tuple[Tensor, ...]:
    """The input, weight, bias, mean and variance of a normalization."""
    return tensor(3, 2, 4), tensor(2, seed=1), tensor(2, seed=2), tensor(2, seed=3), tensor(2, seed=4)


def softmax() -> Tensor:
    return tensor(3, 4).softmax(1)


def distances() -> tuple[Any, ...]:
    x, y = tensor(3, 2), tensor(4, 2, seed=1)
    return tensor(3, 4, seed=2), x, y, 2.0, torch.cdist(x, y)


def weight_norm() -> tuple[Any, ...]:
    """A gradient, a direction, a length of each row, and the norms of the rows."""
    v = tensor(3, 4)
    return tensor(3, 4, seed=1), v, tensor(3, 1, seed=2), v.norm(dim=1, keepdim=True), 0


ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "_cdist_backward": distances,
    "_linalg_slogdet": lambda: (tensor(2, 3, 3),),
    "_log_softmax": lambda: (tensor(3, 4), 1, False),
    "_log_softmax_backward_data": lambda: (tensor(3, 4), softmax().log(), 1, torch.float64),
    "_native_batch_norm_legit": lambda: (*statistics(), False, 0.1, 1e-5),
    "_native_batch_norm_legit_no_training": lambda: (*statistics(), 0.1, 1e-5),
    "_safe_softmax": lambda: (tensor(3, 4), 1),
    "_softmax": lambda: (tensor(3, 4), -1, False),
    "_softmax_backward_data": lambda: (tensor(3, 4), softmax(), 1, torch.float64),
    "_trilinear": lambda: (tensor(2, 3), tensor(3, 4, seed=1), tensor(2, 4, seed=2), [2], [0], [1], [1]),
    "_weight_norm_differentiable_backward": weight_norm,
    "_weight_norm_interface": lambda: (weight_norm()[1], weight_norm()[2], 0),
    "_weight_norm_interface_backward": weight_norm,
    "renorm": lambda: (tensor(3, 4), 2.0, 0, 1.2),
    "cholesky": lambda: (positive(3),),
    "cholesky_inverse": lambda: (torch.linalg.cholesky(positive(3)),),
    "cholesky_solve": lambda: (tensor(2, 3, 2), torch.linalg.cholesky(positive(3)), False),
    "linalg_inv_ex": lambda: (positive(3),),
    "native_batch_norm": lambda: (*statistics(), False, 0.1, 1e-5),
    "native_batch_norm_backward": lambda: (
        *(tensor(3, 2, 4, seed=9), *(each for index, each in enumerate(statistics()) if index != 2)),
        *(None, None, False, 1e-5, [True, True, True]),
    ),
    "triangular_solve": lambda: (tensor(2, 3, 2), tensor(2, 3, 3).triu() + torch.eye(3, dtype=torch.float64)),
}


def test_every_operator_is_called_or_cannot_be() -> None:
    assert set(OPERATORS) == {*ARGUMENTS, *NOT_CALLED}


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_a_defined_operator_computes_what_pytorch_computes(name: str) -> None:
    """Of several outputs those that are defined, which come first; statistics are saved in training only."""
    given = ARGUMENTS[name]()
    wanted = getattr(torch.ops.aten, name).default(*given)
    compiled = INTERPRETER.function(name)
    assert compiled is not None
    found = compiled.primitive.function(*given)
    ours = found if isinstance(found, tuple) else (found,)
    theirs = wanted if isinstance(wanted, tuple) else (wanted,)
    pairs = [
        (one, other) for one, other in zip(ours, theirs, strict=False) if isinstance(one, Tensor) and other.numel()
    ]
    assert pairs
    for one, other in pairs:
        torch.testing.assert_close(one, other)
