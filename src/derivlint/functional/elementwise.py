"""Derivatives of operators that work element by element."""

from __future__ import annotations

import torch
from torch import Tensor


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Tensor:
    """The gradient of the multivariate log-gamma function: the digammas at ``x``, ``x - 1/2``, ... summed."""
    shifts = 0.5 * torch.arange(p, dtype=self.dtype, device=self.device)
    return grad * (self.unsqueeze(-1) - shifts).digamma().sum(-1)


def warn_backwards(grad_output: Tensor) -> Tensor:
    """The gradient of PyTorch's test of warnings."""
    import warnings

    warnings.warn("Warn from backward", stacklevel=2)
    return grad_output
