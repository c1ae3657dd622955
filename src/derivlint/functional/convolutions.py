"""Derivatives of convolutions and of conversions to sparse layouts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def to_sparse_backward(grad: Tensor, self_layout: torch.layout, self_blocksize: Any) -> Tensor:
    """The gradient of ``to_sparse``: in the layout of the input."""
    if self_layout == torch.strided:
        return grad.to_dense()
    if grad.layout == self_layout:
        return grad
    return grad.to_sparse(layout=self_layout, blocksize=self_blocksize)
