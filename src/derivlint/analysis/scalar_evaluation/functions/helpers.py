"""Helpers of FunctionsManual.h, and derivatives in ATen, by their mathematical definition."""

from __future__ import annotations

from derivlint.analysis.scalar_evaluation.functions import special
from derivlint.analysis.scalar_evaluation.functions.table import helper
from derivlint.analysis.scalar_evaluation.values import (
    COMPLEX,
    REAL,
    UnknownValueError,
    Value,
    cast,
)

# ---- types


@helper()
def handle_r_to_c(dtype: Value, gradient: Value) -> Value:
    """The real part, where the argument is real."""
    return float(gradient.real) if dtype is REAL else gradient


# ---- arithmetic


@helper()
def cumprod_jvp(tangent: Value, primal: Value, result: Value) -> Value:
    """The tangent of a product."""
    return tangent * result / primal


@helper()
def mvlgamma_backward(grad: Value, self: Value, p: Value) -> Value:
    """A sum of digamma functions."""
    if not 0 < p <= special.HIGHEST:
        raise UnknownValueError
    return grad * sum(special.digamma(self - j / 2) for j in range(p))


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
