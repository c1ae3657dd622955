"""Helpers of FunctionsManual.h, and derivatives in ATen, written from what they compute."""

from __future__ import annotations

import cmath
import math

from derivlint.meaning.one_element import special
from derivlint.meaning.one_element.arithmetic import power
from derivlint.meaning.one_element.table import helper
from derivlint.meaning.one_element.values import (
    COMPLEX,
    REAL,
    UnknownValueError,
    Value,
    cast,
    conj,
    scalar_type,
    sgn,
)

# ---- types


@helper()
def handle_r_to_c(dtype: Value, gradient: Value) -> Value:
    """The real part, where the argument is real."""
    return float(gradient.real) if dtype is REAL else gradient


def _for(argument: Value, gradient: Value) -> Value:
    return handle_r_to_c(scalar_type(argument), gradient)


@helper()
def _to_copy_backward(grad: Value, options: Value) -> Value:
    return cast(grad, options)


# ---- arithmetic


@helper()
def maybe_multiply(tensor: Value, factor: Value) -> Value:
    """A product."""
    return tensor * factor


@helper()
def mul_tensor_backward(grad: Value, other: Value, dtype: Value) -> Value:
    """The gradient of a factor."""
    return handle_r_to_c(dtype, grad * conj(other))


@helper()
def div_tensor_self_backward(grad: Value, other: Value, dtype: Value, rounding_mode: Value = None) -> Value:
    """The gradient of a dividend."""
    if rounding_mode is not None:
        return 0.0 * grad
    return handle_r_to_c(dtype, grad / conj(other))


@helper()
def div_tensor_other_backward(grad: Value, self: Value, other: Value, rounding_mode: Value = None) -> Value:
    """The gradient of a divisor."""
    if rounding_mode is not None:
        return 0.0 * grad
    return _for(other, -grad * conj(self / other / other))


@helper("pow_backward", "pow_backward_self")
def pow_backward_self(grad: Value, self: Value, exponent: Value) -> Value:
    """The gradient of a base."""
    if exponent == 0:
        return 0.0 * grad
    return _for(self, grad * conj(exponent * power(self, exponent - 1)))


@helper()
def pow_backward_exponent(grad: Value, self: Value, exponent: Value, result: Value) -> Value:
    """The gradient of an exponent."""
    logarithm = cmath.log(self) if type(self) is complex or type(exponent) is complex else math.log(self)
    gradient = grad * conj(result * logarithm)
    return _for(exponent, gradient)


@helper()
def cumprod_jvp(tangent: Value, primal: Value, result: Value) -> Value:
    """The tangent of a product."""
    return tangent * result / primal


# ---- functions of one number


@helper()
def angle_backward(grad: Value, self: Value) -> Value:
    """The angle of a real number does not change."""
    if type(self) is complex:
        return grad.real * 1j * self / abs(self) ** 2 if type(grad) is float else _angle_backward(grad, self)
    return 0.0 * grad


def _angle_backward(grad: complex, self: complex) -> complex:
    return grad * 1j * self / abs(self) ** 2


@helper()
def sgn_backward(x: Value, direction: Value, sign: Value) -> Value:
    """What is across a number, divided by its size."""
    if type(x) is complex:
        return (direction - sign * (conj(sign) * direction).real) / abs(x)
    return 0.0 * direction


@helper()
def deg2rad_backward(grad: Value) -> Value:
    """A constant factor."""
    return grad * math.pi / 180


@helper()
def rad2deg_backward(grad: Value) -> Value:
    """A constant factor."""
    return grad * 180 / math.pi


@helper()
def log1p_backward(grad: Value, self: Value) -> Value:
    """The reciprocal of 1 + x."""
    return grad / conj(self + 1)


@helper()
def sinc_backward(grad: Value, self: Value) -> Value:
    """The derivative of sin(pi x) / (pi x)."""
    a = math.pi * self
    sine, cosine = (cmath.sin(a), cmath.cos(a)) if type(self) is complex else (math.sin(a), math.cos(a))
    return grad * conj((cosine * a - sine) / (a * self))


@helper()
def i1_backward(grad: Value, self: Value, result: Value) -> Value:
    """I1' = I0 - I1 / x."""
    return grad * (special.bessel_i(0, self) - result / self)


@helper()
def i1e_backward(grad: Value, self: Value, result: Value) -> Value:
    """The same with the factor exp(-|x|)."""
    scaled = math.exp(-abs(self)) * special.bessel_i(0, self)
    return grad * (scaled - result * (sgn(self) + 1 / self))


@helper()
def mvlgamma_backward(grad: Value, self: Value, p: Value) -> Value:
    """A sum of digamma functions."""
    if not 0 < p <= special.HIGHEST:
        raise UnknownValueError
    return grad * sum(special.digamma(self - j / 2) for j in range(p))


@helper("logit_backward", "infinitely_differentiable_logit_backward")
def logit_backward(grad: Value, self: Value, eps: Value = None) -> Value:
    """The derivative of the logarithm of the odds, 0 where the number was clamped."""
    if eps is not None and not eps <= self <= 1 - eps:
        return 0.0 * grad
    return grad / (self * (1 - self))


@helper()
def copysign_tensor_self_backward(grad: Value, self: Value, result: Value) -> Value:
    """Whether the sign has changed."""
    return grad * (result / self) if self else 0.0 * grad


# ---- functions of several numbers


@helper()
def atan2_backward(grad: Value, self: Value, other: Value) -> Value:
    """The gradients of both coordinates."""
    factor = grad / (self * self + other * other)
    return factor * other, -factor * self


@helper()
def polar_backward(grad: Value, result: Value) -> Value:
    """The gradients of radius and angle."""
    product = conj(grad) * result
    return (product / abs(result)).real, -product.imag


@helper()
def clamp_backward(grad: Value, self: Value, min: Value, max: Value) -> Value:
    """The slope is 1 between the bounds."""
    inside = (min is None or self >= min) and (max is None or self <= max)
    return grad if inside else 0.0 * grad


@helper()
def clamp_backward_min_max(grad: Value, self: Value, min: Value, max: Value) -> Value:
    """The gradients of the bounds; the upper one wins."""
    zero = 0.0 * grad
    lower = min is not None and self < min and (max is None or min < max)
    upper = max is not None and (self > max or (min is not None and max < min))
    return grad if lower else zero, grad if upper else zero


@helper()
def clamp_jvp(self_p: Value, self_t: Value, min_p: Value, min_t: Value, max_p: Value, max_t: Value) -> Value:
    """The tangent of what is chosen."""
    chosen, tangent = self_p, self_t
    if min_p is not None and chosen < min_p:
        chosen, tangent = min_p, min_t
    return max_t if max_p is not None and chosen > max_p else tangent


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
