"""Derivatives of factorizations with triangular factors: LU and QR.

One formula serves matrices of every shape: factors that are not square are completed, or taken by their leading block.
"""

# ruff: noqa: N803, N806 - names of matrices as in formulas

from __future__ import annotations

import torch
from torch import Tensor

from derivlint.functional.tensors import added


def solved(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unit: bool = False) -> Tensor:
    """The solution of a triangular system."""
    out: Tensor = torch.linalg.solve_triangular(A, B, upper=upper, left=left, unitriangular=unit)
    return out


def _padded(X: Tensor, rows: int, columns: int) -> Tensor:
    """A matrix with zeros below and to the right."""
    return torch.constant_pad_nd(X, [0, columns - X.size(-1), 0, rows - X.size(-2)], 0)


def _completed(X: Tensor, size: int) -> Tensor:
    """A triangular matrix, made square with the rows or columns of the identity."""
    square = _padded(X, size, size)
    diagonal = torch.ones(size, dtype=X.dtype, device=X.device)
    diagonal[: min(X.shape[-2:])] = 0
    return square + torch.diag_embed(diagonal)


# ---- LU: with completed factors, "X = L^-1 dA U^-1" is "L^-1 dL" below the diagonal, and "dU U^-1" above


def _lu_jvp(dPA: Tensor, L: Tensor, U: Tensor) -> tuple[Tensor, Tensor]:
    """The tangents of the factors of a matrix whose rows are permuted already."""
    rows, columns = L.size(-2), U.size(-1)
    left, right = _completed(L, rows), _completed(U, columns)
    X = solved(right, solved(left, dPA, upper=False, unit=True), upper=True, left=False)
    rank = min(rows, columns)
    return (left @ X.tril(-1))[..., :rank], (X.triu() @ right)[..., :rank, :]


def linalg_lu_jvp(dA: Tensor, P: Tensor, L: Tensor, U: Tensor, pivot: bool) -> tuple[Tensor, Tensor]:
    """The tangents of the two factors of ``linalg.lu``."""
    return _lu_jvp(P.mT @ dA if pivot else dA, L, U)


def _lu_backward(gL: Tensor | None, gU: Tensor | None, L: Tensor, U: Tensor) -> Tensor | None:
    """The gradient of the matrix whose rows are permuted already: the adjoint of :func:`_lu_jvp`."""
    rows, columns = L.size(-2), U.size(-1)
    left, right = _completed(L, rows), _completed(U, columns)
    gX = added(
        None if gL is None else (left.mH @ _padded(gL, rows, columns)).tril(-1),
        None if gU is None else (_padded(gU, rows, columns) @ right.mH).triu(),
    )
    if gX is None:
        return None
    return solved(left.mH, solved(right.mH, gX, upper=False, left=False), upper=True, unit=True)


def linalg_lu_backward(
    L_grad: Tensor | None, U_grad: Tensor | None, P: Tensor, L: Tensor, U: Tensor, pivot: bool
) -> Tensor | None:
    """The gradient of ``linalg.lu``."""
    grad = _lu_backward(L_grad, U_grad, L, U)
    return grad if grad is None or not pivot else P @ grad


def _factors(LU: Tensor, pivots: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    P, L, U = torch.lu_unpack(LU, pivots, unpack_data=True, unpack_pivots=pivot)
    return P, L, U


def lu_factor_ex_backward(grad: Tensor, LU: Tensor, pivs: Tensor, pivot: bool) -> Tensor | None:
    """The gradient of ``linalg.lu_factor``, whose factors lie in one matrix."""
    P, L, U = _factors(LU, pivs, pivot)
    rank = min(LU.shape[-2:])
    return linalg_lu_backward(grad[..., :rank].tril(-1), grad[..., :rank, :].triu(), P, L, U, pivot)


def lu_factor_ex_jvp(dX: Tensor, LU: Tensor, pivs: Tensor, pivot: bool) -> Tensor:
    """The tangent of ``linalg.lu_factor``."""
    dL, dU = linalg_lu_jvp(dX, *_factors(LU, pivs, pivot), pivot)
    rows, columns = LU.shape[-2:]
    return _padded(dL, rows, columns) + _padded(dU, rows, columns)


def lu_unpack_backward(L_grad: Tensor | None, U_grad: Tensor | None, m: int, n: int) -> Tensor | None:
    """The gradient of ``lu_unpack``: each part of the matrix from the factor that lies there."""
    rank = min(m, n)
    return added(
        None if L_grad is None else _padded(L_grad[..., :rank].tril(-1), m, n),
        None if U_grad is None else _padded(U_grad[..., :rank, :].triu(), m, n),
    )


# ---- QR: with the leading blocks A1 and R1, "Y = dA1 R1^-1" has "Q^H Y = Q^H dQ + dR1 R1^-1", where the first is
# ---- skew-Hermitian and the second upper triangular with a real diagonal


def _skew_part(W: Tensor) -> Tensor:
    """The skew-Hermitian matrix that differs from a matrix by an upper triangle with a real diagonal."""
    below = W.tril(-1)
    turn = below - below.mH
    return turn + torch.diag_embed(1j * W.diagonal(0, -2, -1).imag) if W.is_complex() else turn


def _skew_part_adjoint(G: Tensor) -> Tensor:
    """The adjoint of :func:`_skew_part`, for the real inner product of matrices."""
    below = (G - G.mH).tril(-1)
    return below + torch.diag_embed(1j * G.diagonal(0, -2, -1).imag) if G.is_complex() else below


def _require_unique(Q: Tensor, R: Tensor, mode: str) -> None:
    if mode == "r":
        raise RuntimeError('linalg.qr has no derivative with mode "r", which does not compute Q')
    if mode == "complete" and Q.size(-2) > R.size(-1):
        raise RuntimeError(
            'linalg.qr has no derivative with mode "complete" and more rows than columns: Q is not unique'
        )


def linalg_qr_jvp(dA: Tensor, Q: Tensor, R: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """The tangents of ``linalg.qr``.

    Raises:
        RuntimeError: the factors are not unique.
    """
    _require_unique(Q, R, mode)
    size = Q.size(-1)
    Y = solved(R[..., :size], dA[..., :size], upper=True, left=False)
    W = Q.mH @ Y
    turn = _skew_part(W)
    return Y - Q @ (W - turn), Q.mH @ dA - turn @ R


def linalg_qr_backward(gQ: Tensor | None, gR: Tensor | None, Q: Tensor, R: Tensor, mode: str) -> Tensor | None:
    """The gradient of ``linalg.qr``: the adjoint of :func:`linalg_qr_jvp`.

    Raises:
        RuntimeError: the factors are not unique.
    """
    if gQ is None and gR is None:
        return None
    if mode == "r" or gQ is not None:
        _require_unique(Q, R, mode)
    if mode == "complete":
        # without a gradient of Q, the columns of Q behind the first do not matter
        size = min(Q.size(-2), R.size(-1))
        gQ = None if gQ is None else gQ[..., :size]
        gR = None if gR is None else gR[..., :size, :]
        Q, R = Q[..., :size], R[..., :size, :]
    into_Q = torch.zeros_like(Q) if gQ is None else gQ
    into_R = torch.zeros_like(R) if gR is None else gR
    along = Q.mH @ into_Q
    into_Y = into_Q + Q @ (_skew_part_adjoint(along - into_R @ R.mH) - along)
    into_A1 = solved(R[..., : Q.size(-1)].mH, into_Y, upper=False, left=False)
    return Q @ into_R + _padded(into_A1, Q.size(-2), R.size(-1))
