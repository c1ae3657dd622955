"""Derivatives of reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from derivlint.functional.tensors import Number, added, wrapped, wrapped_all

Dims = Sequence[int] | None


def unsqueeze_multiple(tensor: Tensor, dims: Dims, ndim: int) -> Tensor:
    """Put dimensions of size one where they were reduced."""
    for dim in sorted(set(wrapped_all(dims, ndim))):
        tensor = tensor.unsqueeze(dim)
    return tensor


def restore_reduced_dims(output: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    """The output of a reduction with the reduced dimensions, of size one."""
    if keepdim:
        return output
    total = output.dim() + len(dims)
    reduced = {dim % total for dim in dims}
    sizes = iter(output.shape)
    return output.reshape([1 if dim in reduced else next(sizes) for dim in range(total)])


def scale_grad_by_count(grad: Tensor, mask: Tensor, dims: Sequence[int]) -> Tensor:
    """A gradient divided evenly among the elements of a mask."""
    return (grad / mask.sum(list(dims), True)) * mask


def amaxamin_jvp(x: Tensor, dx: Tensor, result: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The tangent of ``amax`` and ``amin``."""
    mask = x == restore_reduced_dims(result, dim, keepdim)
    return torch.where(mask, dx, 0.0).sum(list(dim), keepdim) / mask.sum(list(dim), keepdim)


def aminmax_backward(
    self: Tensor,
    dim: int | None,
    keepdim: bool,
    grad_min: Tensor | None,
    grad_max: Tensor | None,
    min: Tensor,
    max: Tensor,
) -> Tensor | None:
    """The gradient of ``aminmax``."""
    dims = list(range(self.dim())) if dim is None else [wrapped(dim, self.dim())]
    kept = keepdim or self.dim() == 0
    terms = []
    for grad, value in ((grad_min, min), (grad_max, max)):
        if grad is not None:
            mask = self == (value if kept else restore_reduced_dims(value, dims, False))
            spread = grad if kept else restore_reduced_dims(grad, dims, False)
            terms.append(scale_grad_by_count(spread, mask, dims))
    return added(*terms)


def aminmax_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The tangent of one output of ``aminmax``."""
    dims = list(range(self_p.dim())) if dim is None else [wrapped(dim, self_p.dim())]
    return amaxamin_jvp(self_p, self_t, result, dims if self_p.dim() else [], keepdim)


def evenly_distribute_backward(grad: Tensor, input: Tensor, value: Tensor) -> Tensor:
    """The gradient of ``max``, ``min`` and ``median`` of everything, divided among equal elements."""
    mask = input.isnan() if bool(value.isnan()) else input == value
    return mask * (grad / mask.sum())


def evenly_read_jvp(fw_grad: Tensor, input: Tensor, value: Tensor) -> Tensor:
    """The tangent of ``max``, ``min`` and ``median`` of everything, the mean over equal elements."""
    mask = input.isnan() if bool(value.isnan()) else input == value
    return (mask * fw_grad).sum() / mask.sum()


def gather_with_keepdimed_indices(input: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """The elements that a reduction selected."""
    full = indices if keepdim else indices.unsqueeze(dim)
    out = torch.gather(input, dim, full) if input.dim() else input
    return out if keepdim else out.squeeze(dim)


def _norm_slope(x: Tensor, norm: Tensor, p: float, dims: Sequence[int]) -> Tensor:
    """The gradient of ``norm = (sum |x|^p)^(1/p)``: ``sgn(x) |x|^(p - 1) norm^(1 - p)``, zero at zero.

    The largest elements share the gradient of the infinite norm. The number of elements that are not zero is constant.

    Args:
        x: the argument.
        norm: its norm, in a shape that can be broadcast to that of ``x``.
        p: the order.
        dims: the dimensions that the norm is over.
    """
    if p == 0:
        return torch.zeros_like(x)
    size = x.abs()
    if math.isinf(p):
        largest = (size == norm) | (size.isnan() & norm.isnan())
        return x.sgn() * largest / (largest.sum(list(dims), True) if x.dim() else 1)
    # "x |x|^(p - 2)" is differentiable at zero where "sgn(x) |x|^(p - 1)" is not
    powers = x * size.pow(p - 2) if p >= 2 else x.sgn() * size.pow(p - 1)
    if p < 1:
        powers = powers.masked_fill(x == 0, 0)
    return powers * norm.pow(1 - p).masked_fill(norm == 0, 0)


def _with_reduced_dims(value: Tensor, dim: Sequence[int], ndim: int, keepdim: bool) -> Tensor:
    return value if keepdim or not ndim else restore_reduced_dims(value, wrapped_all(dim, ndim), False)


def _order(p: Number | None) -> float:
    return 2.0 if p is None else float(p.real)


def norm_backward(
    grad: Tensor, self: Tensor, p_: Number | None, norm: Tensor, dim: Sequence[int] = (), keepdim: bool = True
) -> Tensor:
    """The gradient of a vector norm; zero where the norm is zero."""
    grad, norm = (_with_reduced_dims(value, dim, self.dim(), keepdim) for value in (grad, norm))
    return grad * _norm_slope(self, norm, _order(p_), wrapped_all(dim, self.dim()))


def norm_jvp(
    self_p: Tensor, self_t: Tensor, p_: Number | None, norm: Tensor, dim: Sequence[int] = (), keepdim: bool = True
) -> Tensor:
    """The tangent of a vector norm: the real inner product of tangent and gradient."""
    dims = wrapped_all(dim, self_p.dim())
    full = _with_reduced_dims(norm, dim, self_p.dim(), keepdim)
    moved = torch.real(_norm_slope(self_p, full, _order(p_), dims).conj() * self_t)
    return moved.sum(dims, keepdim) if self_p.dim() else moved


def linalg_vector_norm_backward(
    grad: Tensor, self: Tensor, ord: Number, norm: Tensor, opt_dim: Dims, keepdim: bool
) -> Tensor:
    """The gradient of ``linalg.vector_norm``."""
    return norm_backward(grad, self, ord, norm, opt_dim or (), keepdim)


def linalg_vector_norm_jvp(
    self_p: Tensor, self_t: Tensor, ord: Number, norm: Tensor, opt_dim: Dims, keepdim: bool
) -> Tensor:
    """The tangent of ``linalg.vector_norm``."""
    return norm_jvp(self_p, self_t, ord, norm, opt_dim or (), keepdim)


def _euclidean_dist_backward(
    grad: Tensor | None, x1: Tensor, x2: Tensor, res: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the distances of all pairs: ``sum_j g_ij (x_i - y_j) / d_ij``, zero for equal points."""
    if grad is None:
        return None, None
    pull = (grad / res).masked_fill(res == 0, 0)
    return x1 * pull.sum(-1, keepdim=True) - pull @ x2, x2 * pull.sum(-2).unsqueeze(-1) - pull.mT @ x1


def sum_backward(grad: Tensor, sizes: Sequence[int], opt_dims: Dims, keepdim: bool) -> Tensor:
    """The gradient of a sum."""
    if not keepdim and len(sizes) > 0 and opt_dims:
        grad = unsqueeze_multiple(grad, opt_dims, len(sizes))
    return grad.expand(tuple(sizes))


def nansum_backward(grad: Tensor, self: Tensor, dims: Dims, keepdim: bool) -> Tensor:
    """The gradient of a sum of what is a number."""
    return sum_backward(grad, self.shape, dims, keepdim) * self.isnan().logical_not()


def mean_backward(grad: Tensor, shape: Sequence[int], opt_dim: Dims, numel: int, keepdim: bool) -> Tensor:
    """The gradient of a mean."""
    count = numel
    if opt_dim:
        count = math.prod(shape[wrapped(dim, len(shape))] for dim in opt_dim) if shape else 1
    return sum_backward(grad, shape, opt_dim or (), keepdim) / count


def _count(shape: Sequence[int], dim: Dims) -> int:
    return math.prod(shape[item] for item in wrapped_all(dim, len(shape))) if shape else 1


def var_backward(grad: Tensor, self: Tensor, dim: Dims, correction: Number | None, keepdim: bool) -> Tensor:
    """The gradient of a variance: ``2 (x - mean) / (n - correction)``, not finite without degrees of freedom."""
    freedom = max(0.0, _count(self.shape, dim) - (1.0 if correction is None else float(correction.real)))
    if not self.dim():
        return grad * (2.0 * (self - self)) / freedom
    centred = self - self.mean(wrapped_all(dim, self.dim()), True)
    grad = _with_reduced_dims(grad, dim or (), self.dim(), keepdim)
    return grad * (2.0 * centred) / freedom


def std_backward(
    result: Tensor, grad: Tensor, self: Tensor, dim: Dims, correction: Number | None, keepdim: bool
) -> Tensor:
    """The gradient of a standard deviation, that of the variance over twice the deviation; zero where that is zero."""
    into_variance = torch.where(result == 0, 0.0, grad / (2 * result))
    return var_backward(into_variance, self, dim, correction, keepdim)


def var_mean_backward(
    gvar: Tensor | None, gmean: Tensor | None, self: Tensor, dim_opt: Dims, correction: Number | None, keepdim: bool
) -> Tensor | None:
    """The gradient of ``var_mean``."""
    into_var = into_mean = None
    if gvar is not None:
        into_var = var_backward(gvar, self, dim_opt, correction, keepdim)
    if gmean is not None:
        into_mean = mean_backward(gmean, self.shape, dim_opt, self.numel(), keepdim)
    return added(into_var, into_mean)


def std_mean_backward(
    gstd: Tensor | None,
    gmean: Tensor | None,
    self: Tensor,
    std: Tensor,
    dim_opt: Dims,
    correction: Number | None,
    keepdim: bool,
) -> Tensor | None:
    """The gradient of ``std_mean``."""
    into_std = into_mean = None
    if gstd is not None:
        into_std = std_backward(std, gstd, self, dim_opt, correction, keepdim)
    if gmean is not None:
        into_mean = mean_backward(gmean, self.shape, dim_opt, self.numel(), keepdim)
    return added(into_std, into_mean)


def logsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The gradient of ``logsumexp``: ``exp(x - result)``, zero where everything is minus infinity."""
    grad, result = (_with_reduced_dims(value, dim, self.dim(), keepdim) for value in (grad, result))
    return grad * (self - result.masked_fill(result == -math.inf, 0.0)).exp().conj()


def logsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The tangent of ``logsumexp``: the mean of the tangents, weighted by ``exp(x - logsumexp(x))``."""
    dims = wrapped_all(dim, self_p.dim())
    if not self_p.dim():
        return self_t * (self_p - self_p).exp()
    return (self_t * (self_p - self_p.logsumexp(dims, True)).exp()).sum(dims, keepdim)


def safe_logsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The tangent of ``logsumexp``, zero where everything is minus infinity."""
    nothing = (self_p == -math.inf).all(dim=tuple(wrapped_all(dim, self_p.dim())), keepdim=keepdim)
    return logsumexp_jvp(self_p, self_t, dim, keepdim).masked_fill(nothing, 0.0)


def softmax_double_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Tensor:
    """The gradient of ``y (g - <y, g>)`` for ``y``: ``t g - t <y, g> - g <y, t>``."""
    inner, outer = (output * grad_output).sum(dim, True), (output * grad).sum(dim, True)
    return grad * (grad_output - inner) - grad_output * outer


def _decay(later: Tensor, earlier: Tensor) -> Tensor:
    """``exp(earlier - later)``, zero where the earlier is minus infinity."""
    return torch.where(earlier == -math.inf, 0.0, (earlier - later).exp())


def logcumsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """The gradient of ``r_j = log(sum_{i <= j} exp(x_i))``: ``sum_{j >= i} g_j exp(x_i - r_j)``.

    Gathered from behind as ``G_i = g_i + G_{i+1} exp(r_i - r_{i+1})``, so that no exponential overflows.
    """
    if not grad.dim() or not grad.numel():
        return grad
    x, r, g = self.unbind(dim), result.unbind(dim), grad.unbind(dim)
    gathered = g[-1]
    found = [gathered * _decay(r[-1], x[-1]).conj()]
    for index in range(len(g) - 2, -1, -1):
        gathered = g[index] + gathered * _decay(r[index + 1], r[index]).conj()
        found.append(gathered * _decay(r[index], x[index]).conj())
    return torch.stack(found[::-1], dim)


def logcumsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: int) -> Tensor:
    """The tangent of ``r_j = log(sum_{i <= j} exp(x_i))``.

    It is ``T_j = T_{j-1} exp(r_{j-1} - r_j) + t_j exp(x_j - r_j)``.
    """
    if not self_p.dim() or not self_p.numel():
        return self_t
    x, r, t = self_p.unbind(dim), self_p.logcumsumexp(dim).unbind(dim), self_t.unbind(dim)
    moved = t[0] * _decay(r[0], x[0])
    found = [moved]
    for index in range(1, len(t)):
        moved = moved * _decay(r[index], r[index - 1]) + t[index] * _decay(r[index], x[index])
        found.append(moved)
    return torch.stack(found, dim)


def cumsum_backward(grad: Tensor, dim: int) -> Tensor:
    """The gradient of ``cumsum``."""
    return grad if grad.numel() <= 1 or grad.size(dim) == 1 else grad.flip(dim).cumsum(dim).flip(dim)


def cumprod_jvp(self_t: Tensor, self_p: Tensor, result: Tensor, dim: int) -> Tensor:
    """The tangent of ``cumprod``: ``T_j = T_{j-1} x_j + P_{j-1} t_j``, which zeros do no harm to."""
    if not self_p.dim() or not self_p.numel():
        return self_t
    factors, moves, products = self_p.unbind(dim), self_t.unbind(dim), result.unbind(dim)
    found = [moves[0]]
    for factor, move, product in zip(factors[1:], moves[1:], products, strict=False):
        found.append(found[-1] * factor + product * move)
    return torch.stack(found, dim)


def products_of_others(input: Tensor, dim: int) -> Tensor:
    """The products of all elements but each: of those before, times those behind."""
    ones = torch.ones_like(input.narrow(dim, 0, 1))
    size = input.size(dim)
    before = torch.cat((ones, input.narrow(dim, 0, size - 1)), dim).cumprod(dim)
    behind = torch.cat((ones, input.narrow(dim, 1, size - 1).flip(dim)), dim).cumprod(dim).flip(dim)
    return before * behind


def prod_backward(grad: Tensor, input: Tensor, result: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The gradient of a product, also where factors are zero."""
    if not input.dim() or not input.numel():
        return grad.expand(input.shape)
    if dim is None:
        return (grad * products_of_others(input.reshape(-1), 0).conj()).reshape(input.shape)
    return (grad if keepdim else grad.unsqueeze(dim)) * products_of_others(input, dim).conj()


def _renorm_parts(x: Tensor, p: Number, dim: int) -> tuple[Tensor, Tensor, list[int]]:
    """The norms of the slices, their gradients for ``x``, and the dimensions that they are over."""
    dims = [each for each in range(x.dim()) if each != wrapped(dim, x.dim())]
    norm: Tensor = torch.linalg.vector_norm(x, float(p.real), dims, True)
    return norm, _norm_slope(x, norm, float(p.real), dims), dims


def renorm_backward(grad: Tensor, self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """The gradient of ``renorm``, which multiplies slices by ``s = maxnorm / (norm + 1e-7)`` where they are too large.

    It is ``s g - <x, g> s norm' / (norm + 1e-7)``.
    """
    norm, slope, dims = _renorm_parts(self, p, dim)
    inner = torch.real(self.conj() * grad).sum(dims, True)
    shrunk = maxnorm / (norm + 1e-7) * (grad - inner * slope / (norm + 1e-7))
    return torch.where(norm > maxnorm.real, shrunk.to(grad.dtype), grad)


def renorm_jvp(self_p: Tensor, self_t: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """The tangent of ``renorm``: ``s t - x <norm', t> s / (norm + 1e-7)``."""
    norm, slope, dims = _renorm_parts(self_p, p, dim)
    moved = torch.real(slope.conj() * self_t).sum(dims, True)
    shrunk = maxnorm / (norm + 1e-7) * (self_t - self_p * moved / (norm + 1e-7))
    return torch.where(norm > maxnorm.real, shrunk, self_t)


def max_pool_double_backward(grad: Tensor, indices: Tensor, dim: int) -> Tensor:
    """The elements that a pooling selected."""
    if indices.numel() == 0:
        return grad.new_zeros(indices.shape)
    return grad.flatten(-dim).gather(-1, indices.flatten(-dim)).reshape(indices.shape)


def error_for_max_pool2d_double_backward() -> Tensor:
    """Refuse a derivative.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("max_pool2d with `return_indices=False` is not infinitely differentiable")
