"""Derivatives of the pseudo-inverse and of least squares."""

# ruff: noqa: N803, N806 - names of matrices as in formulas

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from derivlint.functional.linalg import column, is_vector
from derivlint.functional.tensors import added

Pair = tuple[Tensor | None, Tensor | None]
Triple = tuple[Tensor | None, Tensor | None, Tensor | None]


def pinv_jvp(A: Tensor, pinvA: Tensor, dA: Tensor) -> Tensor:
    """The tangent of the pseudo-inverse ``P`` of a matrix that keeps its rank.

    It is that of an inverse, ``-P dA P``, with what turns the column space and the row space:
    ``P P^H dA^H (1 - A P)`` and ``(1 - P A) dA^H P^H P``.
    """
    P, moved = pinvA, dA.mH
    columns, rows = P @ (P.mH @ moved), (moved @ P.mH) @ P
    return columns - (columns @ A) @ P + rows - P @ (A @ rows) - P @ dA @ P


def pinv_backward(grad: Tensor | None, pinvA: Tensor, A: Tensor) -> Tensor | None:
    """The gradient of the pseudo-inverse: the adjoint of :func:`pinv_jvp`."""
    if grad is None:
        return None
    P, back = pinvA, grad.mH
    columns, rows = (back @ P) @ P.mH, P.mH @ (P @ back)
    return columns - A @ (P @ columns) + rows - (rows @ P) @ A - P.mH @ grad @ P.mH


def linalg_lstsq_solution_jvp(A: Tensor, B_: Tensor, dA: Tensor, dB_: Tensor) -> Tensor:
    """The tangent of the solution of ``linalg.lstsq``."""
    vector = is_vector(A, B_)
    B, dB = column(B_, vector), column(dB_, vector)
    inverse: Tensor = torch.linalg.pinv(A)
    out = pinv_jvp(A, inverse, dA) @ B + inverse @ dB
    return out.squeeze(-1) if vector else out


def linalg_lstsq_residuals_jvp(A: Tensor, B_: Tensor, dA: Tensor, dB_: Tensor, X_: Tensor, L: Tensor) -> Tensor:
    """The tangent of the residuals of ``linalg.lstsq``."""
    vector = is_vector(A, B_)
    B, dB, X = (column(value, vector) for value in (B_, dB_, X_))
    rest = A @ X - B
    moved = 2 * (rest.conj() * (dA @ X - dB)).sum(-2)
    out = torch.real(moved) if moved.is_complex() else moved
    return out.reshape(L.shape) if L.numel() else torch.zeros_like(L)


def linalg_lstsq_backward(
    gX_: Tensor | None, gL: Tensor | None, A: Tensor, B_: Tensor, X_: Tensor, grad_input_mask: Sequence[bool]
) -> Pair:
    """The gradients of ``linalg.lstsq``."""
    vector = is_vector(A, B_)
    B = column(B_, vector)
    gA = gB = None
    if gX_ is not None:
        gX = column(gX_, vector)
        inverse: Tensor = torch.linalg.pinv(A)
        gA = pinv_backward(gX @ B.mH, inverse, A) if grad_input_mask[0] else None
        gB = inverse.mH @ gX
    if gL is not None and gL.numel():
        rest = A @ column(X_, vector) - B
        scaled = 2 * gL.unsqueeze(-2) * rest
        gA = added(gA, scaled @ column(X_, vector).mH) if grad_input_mask[0] else None
        gB = added(gB, -scaled)
    if gB is not None and vector:
        gB = gB.squeeze(-1)
    return gA, gB if grad_input_mask[1] else None
