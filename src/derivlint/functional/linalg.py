"""Derivatives of determinants and of the matrix exponential."""

# ruff: noqa: N803, N806 - names of matrices as in formulas

from __future__ import annotations

import torch
from torch import Tensor

from derivlint.functional.reductions import products_of_others


def _cofactors(A: Tensor) -> Tensor:
    """The gradient of the determinant, also of a singular matrix: of ``det(U) prod(S) det(V^H)``."""
    U, S, Vh = torch.linalg.svd(A, full_matrices=False)
    inner = (U * products_of_others(S, -1).unsqueeze(-2)) @ Vh
    out: Tensor = torch.linalg.det(U @ Vh).conj()[..., None, None] * inner
    return out


def _is_singular(LU: Tensor) -> bool:
    """Whether a matrix of a batch is (nearly) singular."""
    smallest = LU.diagonal(0, -2, -1).abs().amin(-1)
    return bool((smallest < 100 * torch.finfo(LU.dtype).eps).any())


def linalg_det_backward(grad: Tensor | None, det: Tensor, A: Tensor, LU: Tensor, pivots: Tensor) -> Tensor | None:
    """The gradient of a determinant: ``det(A) A^-H``, of (nearly) singular matrices the cofactors."""
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
    """The tangent of a determinant, of a (nearly) singular matrix by the cofactors."""
    if LU.numel() and _is_singular(LU):
        P, L, U = torch.lu_unpack(LU, pivots)
        A: Tensor = P @ L @ U
        return (_cofactors(A.mH if use_A_T else A).conj() * dA).sum((-2, -1))
    # the trace of A^-1 dA, which is the tangent of log det A
    solution: Tensor = torch.linalg.lu_solve(LU, pivots, dA, adjoint=use_A_T)
    return det * solution.diagonal(0, -2, -1).sum(-1)


def linalg_matrix_exp_differential(self: Tensor, grad: Tensor, adjoint: bool) -> Tensor:
    """The differential of the matrix exponential, from the exponential of a block matrix."""
    A = self.transpose(-2, -1).conj() if adjoint else self
    size = A.size(-1)
    top = torch.cat((A, grad), -1)
    bottom = torch.cat((torch.zeros_like(A), A), -1)
    block: Tensor = torch.linalg.matrix_exp(torch.cat((top, bottom), -2))
    # a copy, which the tangent of an output has to be
    return block[..., :size, size:].clone()
