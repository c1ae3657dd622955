"""Derivatives of products of Householder reflections."""

# ruff: noqa: N803, N806 - names of matrices as in formulas

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Pair = tuple[Tensor | None, Tensor | None]
Triple = tuple[Tensor | None, Tensor | None, Tensor | None]


def _reflectors(input: Tensor) -> Tensor:
    """The vectors of the reflections: zeros above, one on the diagonal."""
    lower = input.tril(-1)
    ones = torch.eye(input.size(-2), input.size(-1), dtype=input.dtype, device=input.device)
    return lower + ones


def _reflected(v: Tensor, tau: Tensor, X: Tensor) -> Tensor:
    """``(1 - tau v v^H) X``."""
    return X - tau.unsqueeze(-1).unsqueeze(-1) * v.unsqueeze(-1) @ (v.conj().unsqueeze(-2) @ X)


def _product(input: Tensor, tau: Tensor, X: Tensor) -> Tensor:
    """The product of all reflections with a matrix."""
    V = _reflectors(input)
    for index in range(tau.size(-1) - 1, -1, -1):
        X = _reflected(V[..., index], tau[..., index], X)
    return X


def householder_product_jvp(dV: Tensor, dtau: Tensor, prod: Tensor, V: Tensor, tau: Tensor) -> Tensor:
    """The tangent of ``linalg.householder_product``."""
    vectors, moved = _reflectors(V), dV.tril(-1)
    m, k = V.size(-2), prod.size(-1)
    X = torch.eye(m, k, dtype=V.dtype, device=V.device).expand(prod.shape)
    dX = torch.zeros_like(prod)
    for index in range(tau.size(-1) - 1, -1, -1):
        v, dv, t, dt = vectors[..., index], moved[..., index], tau[..., index], dtau[..., index]
        scale, change = t.unsqueeze(-1).unsqueeze(-1), dt.unsqueeze(-1).unsqueeze(-1)
        along = v.conj().unsqueeze(-2) @ X
        dX = _reflected(v, t, dX)
        dX = dX - change * v.unsqueeze(-1) @ along - scale * dv.unsqueeze(-1) @ along
        dX = dX - scale * v.unsqueeze(-1) @ (dv.conj().unsqueeze(-2) @ X)
        X = _reflected(v, t, X)
    return dX


def _reflections_backward(grad: Tensor, input: Tensor, tau: Tensor, X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the product of all reflections with ``X``: for vectors, ``tau`` and ``X``."""
    vectors = _reflectors(input)
    count = tau.size(-1)
    stages = [X]
    for index in range(count - 1, -1, -1):
        stages.append(_reflected(vectors[..., index], tau[..., index], stages[-1]))
    stages.reverse()
    columns, scales = [], []
    for index in range(count):
        v, t, before = vectors[..., index], tau[..., index], stages[index + 1]
        along = v.conj().unsqueeze(-2) @ before
        back = grad @ along.mH
        scales.append(-(v.conj().unsqueeze(-2) @ back).squeeze(-1).squeeze(-1))
        factor = t.unsqueeze(-1)
        first = -factor.conj() * back.squeeze(-1)
        second = -factor * (before @ (grad.mH @ v.unsqueeze(-1))).squeeze(-1)
        columns.append(first + second)
        grad = _reflected(v, t.conj(), grad)
    into_vectors = torch.stack(columns, -1) if columns else torch.zeros_like(input[..., :0])
    missing = input.size(-1) - count
    if missing:
        into_vectors = torch.cat((into_vectors, into_vectors.new_zeros((*input.shape[:-1], missing))), -1)
    into_tau = torch.stack(scales, -1) if scales else torch.zeros_like(tau)
    return into_vectors.tril(-1), into_tau, grad


def householder_product_backward(
    grad: Tensor | None, result: Tensor, input: Tensor, tau: Tensor, flip_order: bool = False
) -> Pair:
    """The gradients of ``linalg.householder_product``."""
    if grad is None or not input.numel() or not tau.numel():
        return None, None
    eye = torch.eye(input.size(-2), result.size(-1), dtype=input.dtype, device=input.device).expand(result.shape)
    into_vectors, into_tau, _ = _reflections_backward(grad, input, tau, eye)
    return into_vectors, into_tau


def ormqr_backward(
    grad: Tensor | None,
    result: Tensor,
    self: Tensor,
    tau: Tensor,
    other: Tensor,
    left: bool,
    transpose: bool,
    grad_output_mask: Sequence[bool],
) -> Triple:
    """The gradients of ``ormqr``: for vectors, ``tau`` and the matrix."""
    if grad is None:
        return None, None, None
    if not left:
        # X Q is the adjoint of Q^H X^H
        first, second, third = ormqr_backward(
            grad.mH, result.mH, self, tau, other.mH, True, not transpose, grad_output_mask
        )
        return first, second, None if third is None else third.mH
    if transpose:
        # <grad, Q^H X> is <Q grad, X>, and the gradient of Q is that of Q applied to grad, with X coming in
        into_vectors, into_tau, _ = _reflections_backward(other, self, tau, grad)
        return into_vectors, into_tau, _product(self, tau, grad)
    return _reflections_backward(grad, self, tau, other)
