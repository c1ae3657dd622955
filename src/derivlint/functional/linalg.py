"""Derivatives of determinants, the matrix exponential and products of Householder reflections."""

# ruff: noqa: N803, N806 - names of matrices as in formulas

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from derivlint.functional.reductions import products_of_others

Pair = tuple[Tensor | None, Tensor | None]
Triple = tuple[Tensor | None, Tensor | None, Tensor | None]


def _reflectors(input: Tensor) -> Tensor:
    """The Householder vectors: zeros above the diagonal, ones on it."""
    lower = input.tril(-1)
    ones = torch.eye(input.size(-2), input.size(-1), dtype=input.dtype, device=input.device)
    return lower + ones


def _reflected(v: Tensor, tau: Tensor, X: Tensor) -> Tensor:
    """``(1 - tau v v^H) X``."""
    return X - tau.unsqueeze(-1).unsqueeze(-1) * v.unsqueeze(-1) @ (v.conj().unsqueeze(-2) @ X)


def _product(input: Tensor, tau: Tensor, X: Tensor) -> Tensor:
    """The product of all reflections and a matrix."""
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
    """The gradients of the product of all reflections and ``X``: for vectors, ``tau`` and ``X``."""
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
        # <grad, Q^H X> = <Q grad, X>: the gradient of Q is that of Q applied to grad, with cotangent X
        into_vectors, into_tau, _ = _reflections_backward(other, self, tau, grad)
        return into_vectors, into_tau, _product(self, tau, grad)
    return _reflections_backward(grad, self, tau, other)


def _cofactors(A: Tensor) -> Tensor:
    """The matrix of conjugated cofactors, the gradient of ``det(U) prod(S) det(V^H)``; valid for singular matrices."""
    U, S, Vh = torch.linalg.svd(A, full_matrices=False)
    inner = (U * products_of_others(S, -1).unsqueeze(-2)) @ Vh
    out: Tensor = torch.linalg.det(U @ Vh).conj()[..., None, None] * inner
    return out


def _is_singular(LU: Tensor) -> bool:
    """Whether any matrix of a batch is (nearly) singular."""
    smallest = LU.diagonal(0, -2, -1).abs().amin(-1)
    return bool((smallest < 100 * torch.finfo(LU.dtype).eps).any())


def linalg_det_backward(grad: Tensor | None, det: Tensor, A: Tensor, LU: Tensor, pivots: Tensor) -> Tensor | None:
    """The gradient of a determinant: ``det(A) A^-H``, or cofactors if a matrix is (nearly) singular."""
    if grad is None:
        return None
    if not A.numel():
        return torch.zeros_like(A)
    if _is_singular(LU):
        return grad[..., None, None] * _cofactors(A)
    scale = (grad * det.conj()).unsqueeze(-1).expand(A.shape[:-1])
    inverse_adjoint: Tensor = torch.linalg.solve(A.mH, torch.diag_embed(scale))
    return inverse_adjoint


def linalg_det_jvp(dA: Tensor, det: Tensor, LU: Tensor, pivots: Tensor, use_A_T: bool) -> Tensor:
    """The tangent of a determinant, by cofactors if a matrix is (nearly) singular."""
    if LU.numel() and _is_singular(LU):
        P, L, U = torch.lu_unpack(LU, pivots)
        A: Tensor = P @ L @ U
        return (_cofactors(A.mH if use_A_T else A).conj() * dA).sum((-2, -1))
    # the trace of A^-1 dA is the tangent of log det A
    solution: Tensor = torch.linalg.lu_solve(LU, pivots, dA, adjoint=use_A_T)
    return det * solution.diagonal(0, -2, -1).sum(-1)


def linalg_matrix_exp_differential(self: Tensor, grad: Tensor, adjoint: bool) -> Tensor:
    """The differential of the matrix exponential, from the exponential of a block matrix."""
    A = self.transpose(-2, -1).conj() if adjoint else self
    size = A.size(-1)
    top = torch.cat((A, grad), -1)
    bottom = torch.cat((torch.zeros_like(A), A), -1)
    block: Tensor = torch.linalg.matrix_exp(torch.cat((top, bottom), -2))
    # a tangent must not be a view
    return block[..., :size, size:].clone()
