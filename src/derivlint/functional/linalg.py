"""Derivatives of products, solvers and factorizations."""

# ruff: noqa: N802, N803, N806 - names of matrices as in formulas

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from derivlint.functional.reductions import products_of_others
from derivlint.functional.tensors import Number, added, maybe_multiply
from derivlint.functional.triangular_factors import solved

Pair = tuple[Tensor | None, Tensor | None]
Triple = tuple[Tensor | None, Tensor | None, Tensor | None]
Sizes = Sequence[int]


def mm_mat1_backward(
    grad: Tensor, mat2: Tensor, mat1_sizes: Sizes, mat1_strides: Sizes, mat1_layout: torch.layout, alpha: Number
) -> Tensor:
    """The gradient of a matrix product for the first factor."""
    return maybe_multiply(grad.mm(mat2.t().conj()), alpha.conjugate())


def mm_mat2_backward(
    grad: Tensor, mat1: Tensor, sizes: Sizes, strides: Sizes, layout: torch.layout, alpha: Number
) -> Tensor:
    """The gradient of a matrix product for the second factor."""
    return maybe_multiply(mat1.t().conj().mm(grad), alpha.conjugate())


def _grouped_mm_mat1_backward(
    grad: Tensor,
    mat2: Tensor,
    mat1_sizes: Sizes,
    mat1_strides: Sizes,
    mat1_layout: torch.layout,
    offs: Tensor | None,
    alpha: Number,
) -> Tensor:
    """The gradient of a grouped matrix product for the first factor."""
    value: Tensor = torch.ops.aten._grouped_mm.default(grad, mat2.transpose(-2, -1), offs)
    return maybe_multiply(value, alpha.conjugate())


def _grouped_mm_mat2_backward(
    grad: Tensor, mat1: Tensor, sizes: Sizes, strides: Sizes, layout: torch.layout, offs: Tensor | None, alpha: Number
) -> Tensor:
    """The gradient of a grouped matrix product for the second factor."""
    value: Tensor = torch.ops.aten._grouped_mm.default(mat1.transpose(-2, -1), grad, offs)
    return maybe_multiply(value, alpha.conjugate())


def linear_double_backward(
    grads: Sequence[Tensor | None], self: Tensor, grad_output: Tensor | None, weight: Tensor
) -> Triple:
    """The gradients of ``linear_backward``: for input, incoming gradient and weight."""
    if grad_output is None:
        return None, None, None
    into_self = into_output = into_weight = None
    if grads[1] is not None:
        into_self = grad_output.matmul(grads[1])
    if grads[0] is not None:
        out = grad_output.unsqueeze(1) if grad_output.dim() == 1 else grad_output.mT
        into_weight = out.matmul(grads[0].unsqueeze(0) if grads[0].dim() == 1 else grads[0])
    into_output = added(
        None if grads[0] is None else grads[0].matmul(weight.mT),
        None if grads[1] is None else self.matmul(grads[1].mT),
        None if grads[2] is None else grads[2].expand(grad_output.shape),
    )
    return into_self, into_output, into_weight


def _trilinear_backward(
    grad_out: Tensor | None,
    i1: Tensor | None,
    i2: Tensor | None,
    i3: Tensor | None,
    expand1: Sizes,
    expand2: Sizes,
    expand3: Sizes,
    sumdim: Sizes,
    grad_mask: Sequence[bool],
) -> Triple:
    """The gradients of ``_trilinear``."""
    if grad_out is None:
        return None, None, None
    trilinear = torch.ops.aten._trilinear.default
    return (
        trilinear(grad_out, i2, i3, sumdim, expand2, expand3, expand1) if grad_mask[0] else None,
        trilinear(i1, grad_out, i3, expand1, sumdim, expand3, expand2) if grad_mask[1] else None,
        trilinear(i1, i2, grad_out, expand1, expand2, sumdim, expand3) if grad_mask[2] else None,
    )


# ---- Cholesky: "L^-1 dA L^-H = L^-1 dL + (L^-1 dL)^H", so that L^-1 dL is the lower triangle with half of the diagonal


def _doubled(X: Tensor) -> Tensor:
    """A matrix plus its adjoint."""
    return X + X.mH


def _half_triangle(X: Tensor) -> Tensor:
    """The lower triangle ``T`` with ``T + T^H = X`` for a Hermitian ``X``; its own adjoint."""
    return X.tril(-1) + 0.5 * torch.diag_embed(X.diagonal(0, -2, -1))


def cholesky_jvp(dA: Tensor, L: Tensor, upper: bool) -> Tensor:
    """The tangent of ``cholesky``."""
    if upper:
        return cholesky_jvp(dA, L.mH, False).mH
    inner = solved(L.mH, solved(L, dA, upper=False), upper=True, left=False)
    return L @ _half_triangle(inner)


def cholesky_backward(gL: Tensor, upper: bool, L: Tensor) -> Tensor:
    """The gradient of ``cholesky``: the Hermitian part of the adjoint of :func:`cholesky_jvp`."""
    if upper:
        return cholesky_backward(gL.mH, False, L.mH)
    inner = 0.5 * _doubled(_half_triangle(L.mH @ gL))
    return solved(L, solved(L.mH, inner, upper=True), upper=False, left=False)


def _triangle(X: Tensor, upper: bool, unitriangular: bool = False) -> Tensor:
    """One triangle of a matrix, without the diagonal where that is not read."""
    return X.triu(int(unitriangular)) if upper else X.tril(-int(unitriangular))


def _change_of_product(factor: Tensor, moved: Tensor, upper: bool) -> Tensor:
    """The tangent of ``L L^H``, or of ``U^H U``."""
    L, dL = _triangle(factor, upper), _triangle(moved, upper)
    return _doubled(dL.mH @ L if upper else dL @ L.mH)


def _gradient_of_factor(grad: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a factor from that of ``L L^H`` or ``U^H U``: the adjoint of :func:`_change_of_product`."""
    both, L = _doubled(grad), _triangle(factor, upper)
    return _triangle(L @ both if upper else both @ L, upper)


def cholesky_inverse_backward(grad: Tensor | None, L: Tensor, upper: bool, inverse: Tensor) -> Tensor | None:
    """The gradient of ``cholesky_inverse``: that of a matrix inverse, then of the product of the factors."""
    return None if grad is None else _gradient_of_factor(-inverse @ grad @ inverse, L, upper)


def cholesky_inverse_jvp(F: Tensor, dF: Tensor, X: Tensor, upper: bool) -> Tensor:
    """The tangent of ``cholesky_inverse``."""
    return -X @ _change_of_product(F, dF, upper) @ X


def cholesky_solve_backward(
    grad_x: Tensor | None, self: Tensor, input2: Tensor, result: Tensor, upper: bool, output_mask: Sequence[bool]
) -> Pair:
    """The gradients of ``cholesky_solve``: those of a solver, then of the product of the factors."""
    if grad_x is None:
        return None, None
    into_right = torch.cholesky_solve(grad_x, input2, upper)
    into_factor = _gradient_of_factor(-into_right @ result.mH, input2, upper) if output_mask[1] else None
    return into_right if output_mask[0] else None, into_factor


def cholesky_solve_jvp(X: Tensor, U: Tensor, dU: Tensor, dB: Tensor, upper: bool) -> Tensor:
    """The tangent of ``cholesky_solve``."""
    return torch.cholesky_solve(dB - _change_of_product(U, dU, upper) @ X, U, upper)


# ---- determinants and solvers


def _solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    out: Tensor = torch.linalg.solve(A, B, left=left)
    return out


def _scaled_inverse_adjoint(A: Tensor, scale: Tensor) -> Tensor:
    """``scale A^-H``."""
    return _solve(A.mH, torch.diag_embed(scale.unsqueeze(-1).expand(A.shape[:-1])))


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
    return _scaled_inverse_adjoint(A, grad * det.conj())


def _trace_of_solution(LU: Tensor, pivots: Tensor, dA: Tensor, adjoint: bool) -> Tensor:
    """The trace of ``A^-1 dA``, which is the tangent of ``log det A``."""
    product: Tensor = torch.linalg.lu_solve(LU, pivots, dA, adjoint=adjoint)
    return product.diagonal(0, -2, -1).sum(-1)


def linalg_det_jvp(dA: Tensor, det: Tensor, LU: Tensor, pivots: Tensor, use_A_T: bool) -> Tensor:
    """The tangent of a determinant, of a (nearly) singular matrix by the cofactors."""
    if LU.numel() and _is_singular(LU):
        P, L, U = torch.lu_unpack(LU, pivots)
        A: Tensor = P @ L @ U
        return (_cofactors(A.mH if use_A_T else A).conj() * dA).sum((-2, -1))
    return det * _trace_of_solution(LU, pivots, dA, use_A_T)


def slogdet_backward(
    grad_sign: Tensor | None, grad_logabsdet: Tensor | None, A: Tensor, signdet: Tensor, LU: Tensor, pivots: Tensor
) -> Tensor | None:
    """The gradient of ``slogdet``: of the real part of ``log det A``, and of the sign by its imaginary part."""
    if grad_sign is None and grad_logabsdet is None:
        return None
    into_log = torch.zeros_like(signdet) if grad_logabsdet is None else grad_logabsdet.to(A.dtype)
    if grad_sign is not None and A.is_complex():
        into_log = into_log + 1j * (signdet.conj() * grad_sign).imag
    elif grad_logabsdet is None:
        return torch.zeros_like(A)
    return _scaled_inverse_adjoint(A, into_log)


def slogdet_jvp(LU: Tensor, pivots: Tensor, dA: Tensor, sign: Tensor, use_A_T: bool) -> tuple[Tensor, Tensor]:
    """The tangents of ``slogdet``."""
    moved = _trace_of_solution(LU, pivots, dA, use_A_T)
    turned = 1j * moved.imag * sign if moved.is_complex() else torch.zeros_like(moved)
    return turned, torch.real(moved)


def is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether the right side of a system is a vector, or a batch of them, rather than a matrix."""
    return B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])


def column(value: Tensor, vector: bool) -> Tensor:
    """A vector as a matrix of one column."""
    return value.unsqueeze(-1) if vector else value


def linalg_solve_backward(
    gX: Tensor | None, X: Tensor, A: Tensor, LU: Tensor, pivots: Tensor, left: bool, B_requires_grad: bool
) -> Pair:
    """The gradients of ``linalg.solve``: ``gB = A^-H g``, and ``-gB X^H``."""
    if gX is None:
        return None, None
    vector = is_vector(LU, X)
    x = column(X, vector)
    # solved anew: the factors have no history that leads back to the matrix
    into_right = _solve(A.mH, column(gX, vector), left=left)
    into_A = -(into_right @ x.mH) if left else -(x.mH @ into_right)
    return into_A, into_right.squeeze(-1) if vector else into_right


def linalg_solve_jvp(dA: Tensor, dB: Tensor, X: Tensor, LU: Tensor, pivots: Tensor, left: bool) -> Tensor:
    """The tangent of ``linalg.solve``: ``A^-1 (dB - dA X)``."""
    vector = is_vector(LU, X)
    x = column(X, vector)
    moved = column(dB, vector) - (dA @ x if left else x @ dA)
    out: Tensor = torch.linalg.lu_solve(LU, pivots, moved, left=left)
    return out.squeeze(-1) if vector else out


def linalg_solve_triangular_forward_AD(
    A_t: Tensor, B_t: Tensor, A: Tensor, X: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """The tangent of ``linalg.solve_triangular``."""
    moved = _triangle(A_t, upper, unitriangular)
    right = B_t - (moved @ X if left else X @ moved)
    return solved(A, right, upper=upper, left=left, unit=unitriangular)


def linalg_solve_triangular_backward(
    grad: Tensor | None, A: Tensor, X: Tensor, upper: bool, left: bool, unitriangular: bool, output_mask: Sequence[bool]
) -> Pair:
    """The gradients of ``linalg.solve_triangular``."""
    if grad is None or not any(output_mask):
        return None, None
    gB = solved(A.mH, grad, upper=not upper, left=left, unit=unitriangular)
    gA = None
    if output_mask[0]:
        gA = _triangle(-(gB @ X.mH) if left else -(X.mH @ gB), upper, unitriangular)
    return gA, gB if output_mask[1] else None


def triangular_solve_backward(
    grad_x: Tensor | None,
    grad_m: Tensor | None,
    b: Tensor,
    a: Tensor,
    x: Tensor,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    output_mask: Sequence[bool],
) -> Pair:
    """The gradients of ``triangular_solve``."""
    gb = ga = None
    if grad_x is not None:
        gb = torch.triangular_solve(grad_x, a.conj(), upper, not transpose, unitriangular)[0]
        if output_mask[1]:
            ga = -_triangle(x.conj() @ gb.mT if transpose else gb @ x.mH, upper, unitriangular)
    if output_mask[1]:
        ga = added(ga, grad_m)
    return gb if output_mask[0] else None, ga


def triangular_solve_jvp(
    X: Tensor, A: Tensor, dA: Tensor, dB: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> Tensor:
    """The tangent of ``triangular_solve``."""
    moved = _triangle(dA, upper, unitriangular)
    right = dB - (moved.mT if transpose else moved) @ X
    return torch.triangular_solve(right, A, upper, transpose, unitriangular)[0]


# ---- sparse products that need no layout


def mm_mat1_sparse_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, alpha: Number) -> Tensor:
    """The gradient of a product for a sparse first factor, as it is kept."""
    return maybe_multiply(grad.mm(mat2.mH), alpha.conjugate()).sparse_mask(mat1.coalesce())


def linalg_matrix_exp_differential(self: Tensor, grad: Tensor, adjoint: bool) -> Tensor:
    """The differential of the matrix exponential, from the exponential of a block matrix."""
    A = self.transpose(-2, -1).conj() if adjoint else self
    size = A.size(-1)
    top = torch.cat((A, grad), -1)
    bottom = torch.cat((torch.zeros_like(A), A), -1)
    block: Tensor = torch.linalg.matrix_exp(torch.cat((top, bottom), -2))
    # a copy, which the tangent of an output has to be
    return block[..., :size, size:].clone()
