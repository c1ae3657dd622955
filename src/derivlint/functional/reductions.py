"""Derivatives of reductions, scans and elementwise functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from derivlint.functional.tensors import wrapped_all

Dims = Sequence[int] | None


def unsqueeze_multiple(tensor: Tensor, dims: Dims, ndim: int) -> Tensor:
    """Insert dimensions of size one where dimensions were reduced."""
    for dim in sorted(set(wrapped_all(dims, ndim))):
        tensor = tensor.unsqueeze(dim)
    return tensor


def _decay(later: Tensor, earlier: Tensor) -> Tensor:
    """``exp(earlier - later)``, or zero if ``earlier`` is minus infinity."""
    return torch.where(earlier == -math.inf, 0.0, (earlier - later).exp())


def logcumsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of ``r_j = log(sum_{i <= j} exp(x_i))``: ``sum_{j >= i} g_j exp(x_i - r_j)``.

    Computed from the end as ``G_i = g_i + G_{i+1} exp(r_i - r_{i+1})``, so that no exponential overflows.
    """
    if not grad.dim() or not grad.numel():
        return grad
    x, r, g = self.unbind(dim), result.unbind(dim), grad.unbind(dim)
    gathered = g[-1]
    parts = [gathered * _decay(r[-1], x[-1]).conj()]
    for index in range(len(g) - 2, -1, -1):
        gathered = g[index] + gathered * _decay(r[index + 1], r[index]).conj()
        parts.append(gathered * _decay(r[index], x[index]).conj())
    return torch.stack(parts[::-1], dim)


def logcumsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: int) -> Tensor:
    """The tangent of ``r_j = log(sum_{i <= j} exp(x_i))``.

    It is ``T_j = T_{j-1} exp(r_{j-1} - r_j) + t_j exp(x_j - r_j)``.
    """
    if not self_p.dim() or not self_p.numel():
        return self_t
    x, r, t = self_p.unbind(dim), self_p.logcumsumexp(dim).unbind(dim), self_t.unbind(dim)
    moved = t[0] * _decay(r[0], x[0])
    parts = [moved]
    for index in range(1, len(t)):
        moved = moved * _decay(r[index], r[index - 1]) + t[index] * _decay(r[index], x[index])
        parts.append(moved)
    return torch.stack(parts, dim)


def cumprod_jvp(self_t: Tensor, self_p: Tensor, result: Tensor, dim: int) -> Tensor:
    """The tangent of ``cumprod``: ``T_j = T_{j-1} x_j + P_{j-1} t_j``, which is valid for zeros."""
    if not self_p.dim() or not self_p.numel():
        return self_t
    factors, moves, products = self_p.unbind(dim), self_t.unbind(dim), result.unbind(dim)
    parts = [moves[0]]
    for factor, move, product in zip(factors[1:], moves[1:], products, strict=False):
        parts.append(parts[-1] * factor + product * move)
    return torch.stack(parts, dim)


def products_of_others(input: Tensor, dim: int) -> Tensor:
    """The product of all other elements for each element: of those before it, times those after it."""
    if not input.dim() or not input.numel():
        return torch.ones_like(input)
    ones = torch.ones_like(input.narrow(dim, 0, 1))
    size = input.size(dim)
    before = torch.cat((ones, input.narrow(dim, 0, size - 1)), dim).cumprod(dim)
    behind = torch.cat((ones, input.narrow(dim, 1, size - 1).flip(dim)), dim).cumprod(dim).flip(dim)
    return before * behind


def error_for_max_pool2d_double_backward() -> Tensor:
    """Refuse the second derivative of ``max_pool2d``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("max_pool2d with `return_indices=False` is not infinitely differentiable")


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Tensor:
    """The gradient of the multivariate log-gamma function: the sum of digammas at ``x``, ``x - 1/2``, ..."""
    shifts = 0.5 * torch.arange(p, dtype=self.dtype, device=self.device)
    return grad * (self.unsqueeze(-1) - shifts).digamma().sum(-1)


def warn_backwards(grad_output: Tensor) -> Tensor:
    """The gradient of ``_test_warn_in_autograd``."""
    import warnings

    warnings.warn("Warn from backward", stacklevel=2)
    return grad_output
