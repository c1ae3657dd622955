"""Helpers of FunctionsManual.h, and derivatives in ATen, written from what they compute."""

from __future__ import annotations

from derivlint.meaning.one_element import special
from derivlint.meaning.one_element.table import helper
from derivlint.meaning.one_element.values import (
    COMPLEX,
    REAL,
    UnknownValueError,
    Value,
    cast,
    conj,
    real_only,
    sgn,
)

# ---- types


@helper()
def handle_r_to_c(dtype: Value, gradient: Value) -> Value:
    """The real part, where the argument is real."""
    return float(gradient.real) if dtype is REAL else gradient


# ---- arithmetic


@helper()
def prod_backward(grad: Value, input: Value, result: Value) -> Value:
    """The gradient of a factor."""
    return grad * conj(result / input)


@helper()
def cumprod_jvp(tangent: Value, primal: Value, result: Value) -> Value:
    """The tangent of a product."""
    return tangent * result / primal


@helper("logsumexp_jvp", "logcumsumexp_jvp", "safe_logsumexp_jvp")
def logsumexp_jvp(_primal: Value, tangent: Value) -> Value:
    """The tangent of the only element."""
    return tangent


@helper()
def mvlgamma_backward(grad: Value, self: Value, p: Value) -> Value:
    """A sum of digamma functions."""
    if not 0 < p <= special.HIGHEST:
        raise UnknownValueError
    return grad * sum(special.digamma(self - j / 2) for j in range(p))


# ---- norms


def _norm_slope(self: Value, p: Value) -> Value:
    return 0.0 * self if p == 0 else sgn(self)


@helper("norm_backward", "linalg_vector_norm_backward")
def norm_backward(grad: Value, self: Value, p: Value, _norm: Value) -> Value:
    """The gradient of the absolute value."""
    return grad * _norm_slope(self, 2 if p is None else p)


@helper("norm_jvp", "linalg_vector_norm_jvp")
def norm_jvp(self_p: Value, self_t: Value, p: Value, _norm: Value) -> Value:
    """The tangent of the absolute value."""
    return float((conj(_norm_slope(self_p, 2 if p is None else p)) * self_t).real)


@helper()
def _cdist_backward(grad: Value, x1: Value, x2: Value, p: Value, _distance: Value) -> Value:
    return grad * _norm_slope(real_only(x1) - real_only(x2), p)


@helper()
def _euclidean_dist_backward(grad: Value, x1: Value, x2: Value, _distance: Value) -> Value:
    slope = grad * sgn(real_only(x1) - real_only(x2))
    return slope, -slope


# ---- choices


@helper("evenly_distribute_backward", "evenly_read_jvp")
def evenly_distributed(direction: Value, input: Value, value: Value) -> Value:
    """The direction goes to all elements that equal the value."""
    return direction if input == value else 0.0 * direction


@helper()
def scale_grad_by_count(grad: Value, mask: Value) -> Value:
    """The gradient goes to all elements that are chosen."""
    if type(mask) is not bool:
        raise UnknownValueError
    return grad if mask else 0.0 * grad


@helper()
def amaxamin_jvp(primal: Value, tangent: Value, result: Value) -> Value:
    """The tangent of what is chosen."""
    return evenly_distributed(tangent, primal, result)


@helper()
def aminmax_backward(
    self: Value, _dim: Value, _keepdim: Value, grad_min: Value, grad_max: Value, min: Value, max: Value
) -> Value:
    """The gradients go to the least and the greatest element."""
    return evenly_distributed(grad_min, self, min) + evenly_distributed(grad_max, self, max)


@helper()
def aminmax_jvp(primal: Value, tangent: Value, result: Value) -> Value:
    """The tangent of what is chosen."""
    return evenly_distributed(tangent, primal, result)


# ---- types of tensors


@helper("to_sparse_backward", "sparse_mask_backward", "_sparse_sum_backward", "to_mkldnn_backward", "warn_backwards")
def converted(grad: Value) -> Value:
    """The gradient in another layout."""
    return grad


@helper()
def fft_r2c_backward(grad: Value) -> Value:
    """The transform of one real number is that number."""
    return float(grad.real)


@helper()
def fft_c2r_backward(grad: Value) -> Value:
    """The real part of one number."""
    return cast(grad, COMPLEX)
