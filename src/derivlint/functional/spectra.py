"""Derivatives of singular values, and of their vectors.

Vectors are unique only up to phases; of the tangents the ones are chosen that do not turn them.
"""

# ruff: noqa: N803, N806 - names of matrices as in formulas

from __future__ import annotations

import torch
from torch import Tensor

from derivlint.functional.tensors import added


def _diagonal(X: Tensor) -> Tensor:
    return X.diagonal(0, -2, -1)


def _divided_by_gaps(X: Tensor, values: Tensor) -> Tensor:
    """``x_ij / (v_j - v_i)``, zero on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1) + torch.diag_embed(torch.ones_like(values))
    return (X - torch.diag_embed(_diagonal(X))) / gaps


def _divided_by_sums(X: Tensor, S: Tensor) -> Tensor:
    """``x_ij / (s_j + s_i)``, where that is not zero."""
    sums = S.unsqueeze(-2) + S.unsqueeze(-1)
    return X / torch.where(sums == 0, 1.0, sums)


def svd_backward(
    gU: Tensor | None, gS: Tensor | None, gVh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor
) -> Tensor | None:
    """The gradient of the singular value decomposition: the adjoint of :func:`linalg_svd_jvp`."""
    rank = S.size(-1)
    left, right = U[..., :rank], Vh[..., :rank, :].mH
    into_left = None if gU is None else gU[..., :rank]
    into_right = None if gVh is None else gVh[..., :rank, :].mH
    into_M = None if gS is None else torch.diag_embed(gS.to(U.dtype))
    turns = []
    for vectors, grad in ((left, into_left), (right, into_right)):
        along = None if grad is None else vectors.mH @ grad
        turns.append(None if along is None else (along - along.mH) / 2)
    both = added(*turns)
    if both is not None:
        apart = added(turns[0], None if turns[1] is None else -turns[1])
        assert apart is not None
        into_M = added(into_M, _divided_by_gaps(both, S), _divided_by_sums(apart, S))
    if into_M is None:
        return None
    grad = left @ into_M
    if into_left is not None and U.size(-2) > rank:
        scaled = into_left / S.unsqueeze(-2)
        grad = grad + scaled - left @ (left.mH @ scaled)
    grad = grad @ right.mH
    if into_right is not None and Vh.size(-1) > rank:
        scaled = into_right / S.unsqueeze(-2)
        grad = grad + left @ (scaled - right @ (right.mH @ scaled)).mH
    return grad


def linalg_svd_jvp(dA: Tensor, U: Tensor, S: Tensor, Vh: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The tangents of the singular value decomposition.

    With the Hermitian part ``H`` and the skew part ``K`` of ``U^H dA V``, singular vectors turn among themselves by
    ``h_ij / (s_j - s_i) + k_ij / (s_j + s_i)`` on the left and by the difference of the two on the right; what is
    outside of their span is ``dA V / S`` and ``dA^H U / S``.

    Raises:
        RuntimeError: for complete bases of matrices that are not square, which are not unique.
    """
    if full_matrices and U.size(-2) != Vh.size(-1):
        raise RuntimeError("linalg.svd has no tangent with full_matrices=True of a matrix that is not square")
    rank = S.size(-1)
    left, right = U[..., :rank], Vh[..., :rank, :].mH
    M = left.mH @ dA @ right
    H, K = (M + M.mH) / 2, (M - M.mH) / 2
    together, apart = _divided_by_gaps(H, S), _divided_by_sums(K, S)
    dU, dV = left @ (together + apart), right @ (together - apart)
    if U.size(-2) > rank:
        moved = dA @ right / S.unsqueeze(-2)
        dU = dU + moved - left @ (left.mH @ moved)
    if Vh.size(-1) > rank:
        moved = dA.mH @ left / S.unsqueeze(-2)
        dV = dV + moved - right @ (right.mH @ moved)
    return dU, torch.real(_diagonal(M)), dV.mH
