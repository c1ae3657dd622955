"""Derivatives of QR factorizations, of matrices of every shape by the leading block of the triangular factor."""

# ruff: noqa: N803, N806 - names of matrices as in formulas

from __future__ import annotations

import torch
from torch import Tensor


def solved(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unit: bool = False) -> Tensor:
    """The solution of a triangular system."""
    out: Tensor = torch.linalg.solve_triangular(A, B, upper=upper, left=left, unitriangular=unit)
    return out


def _padded(X: Tensor, rows: int, columns: int) -> Tensor:
    """A matrix with zeros below and to the right."""
    return torch.constant_pad_nd(X, [0, columns - X.size(-1), 0, rows - X.size(-2)], 0)


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
