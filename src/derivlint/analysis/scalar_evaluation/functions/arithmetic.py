"""Functions of several numbers: arithmetic, powers, comparisons, interpolation."""

from __future__ import annotations

import cmath
import math

from derivlint.analysis.scalar_evaluation.functions import special
from derivlint.analysis.scalar_evaluation.functions.table import helper, helpers, operator, operators
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value, conj, divided, real_only


@helper("mul", "mm", "bmm", "mv", "dot", "__rmul__", "multiply", "_sparse_sparse_matmul")
def product(self: Value, other: Value) -> Value:
    """A product, for any matrix or vector product; ``dot`` does not conjugate."""
    return self * other


@operator("div", "divide", "true_divide")
def quotient(self: Value, other: Value, rounding_mode: Value = None) -> Value:
    """The quotient, rounded if requested."""
    if rounding_mode is None:
        return divided(self, other)
    exact = real_only(self) / real_only(other)
    return float(math.floor(exact) if rounding_mode == "floor" else math.trunc(exact))


def power(base: Value, exponent: Value) -> Value:
    """A power; NaN for a negative number if the result is not real."""
    if type(base) is complex or type(exponent) is complex:
        return cmath.exp(exponent * cmath.log(base)) if base else complex(base) ** exponent
    if base < 0 and exponent != int(exponent):
        return math.nan
    if base == 0 and exponent < 0:
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
    return float(base) ** exponent


@operator()
def logaddexp(self: Value, other: Value) -> Value:
    """The logarithm of a sum of exponentials."""
    if type(self) is complex or type(other) is complex:
        return cmath.log(cmath.exp(self) + cmath.exp(other))
    return math.log(math.exp(self) + math.exp(other))


@operator()
def xlogy(self: Value, other: Value) -> Value:
    """``x log y``; linear in x for any sign of x, and zero for x = 0, y = inf."""
    # PyTorch also returns zero for negative numbers, for which the operator is documented as undefined
    return 0.0 if self == other == 0 else self * math.log(other)


@helper("addmm", "addmv", "addr", "addbmm", "baddbmm", "_sparse_addmm")
def plus_product(self: Value, first: Value, second: Value, beta: Value = 1, alpha: Value = 1) -> Value:
    """``beta self + alpha first second``."""
    return beta * self + alpha * first * second


@operator("maximum")
def maximum(self: Value, other: Value) -> Value:
    """The greater of two numbers; NaN if one of them is NaN."""
    return math.nan if math.isnan(self) or math.isnan(other) else max(real_only(self), real_only(other))


@operator("minimum")
def minimum(self: Value, other: Value) -> Value:
    """The smaller of two numbers; NaN if one of them is NaN."""
    return math.nan if math.isnan(self) or math.isnan(other) else min(real_only(self), real_only(other))


@operator()
def fmax(self: Value, other: Value) -> Value:
    """The greater of two numbers; if one is NaN, the other one."""
    return other if math.isnan(self) else self if math.isnan(other) else max(real_only(self), real_only(other))


@operator()
def fmin(self: Value, other: Value) -> Value:
    """The smaller of two numbers; if one is NaN, the other one."""
    return other if math.isnan(self) else self if math.isnan(other) else min(real_only(self), real_only(other))


@operator("clamp")
def clamp(self: Value, min: Value = None, max: Value = None) -> Value:
    """A number clamped to two bounds; the upper bound wins."""
    if min is not None and self < min:
        self = min
    return max if max is not None and self > max else self


@operator()
def logit(self: Value, eps: Value = None) -> Value:
    """The logarithm of the odds."""
    if eps is not None:
        self = min(max(self, eps), 1 - eps)
    return math.log(self / (1 - self))


@operator("frexp")
def frexp(self: Value) -> Value:
    """Mantissa and exponent."""
    mantissa, exponent = math.frexp(self)
    return mantissa, float(exponent)


@operator()
def polar(abs: Value, angle: Value) -> Value:
    """A complex number in polar coordinates; a radius is positive."""
    if abs <= 0:
        raise UnknownValueError
    return cmath.rect(real_only(abs), real_only(angle))


@helper()
def mvlgamma_backward(grad: Value, self: Value, p: Value) -> Value:
    """A sum of digamma functions."""
    if not 0 < p <= special.HIGHEST:
        raise UnknownValueError
    return grad * sum(special.digamma(self - j / 2) for j in range(p))


@helper("norm", "linalg_vector_norm")
def norm(self: Value, p: Value = 2, _dim: Value = None, _keepdim: Value = None, _dtype: Value = None) -> Value:
    """The norm of a number: its absolute value, except for p = 0."""
    if p == 0:
        return float(self != 0)
    return abs(self)


operators(
    {
        "add __radd__": lambda self, other, alpha=1: self + alpha * other,
        "sub": lambda self, other, alpha=1: self - alpha * other,
        "rsub": lambda self, other, alpha=1: other - alpha * self,
        "vdot": lambda self, other: conj(self) * other,
        "fmod": lambda self, other: math.fmod(self, other),
        "remainder": lambda self, other: self - other * math.floor(self / other),
        "pow float_power": lambda self, exponent: power(self, exponent),
        "ldexp": lambda self, other: self * power(2.0, other),
        "atan2": lambda self, other: math.atan2(self, other),
        "nextafter": lambda self, other: math.nextafter(self, other),
        "hypot": lambda self, other: math.hypot(self, other),
        "copysign": lambda self, other: math.copysign(self, other),
        "logaddexp2": lambda self, other: math.log2(2.0 ** real_only(self) + 2.0 ** real_only(other)),
        "special_xlog1py": lambda self, other: xlogy(self, other + 1) if other == -1 else self * math.log1p(other),
        "special_zeta": lambda self, other: special.zeta(self, other),
        "polygamma": lambda n, self: special.polygamma(n, self),
        "mvlgamma": lambda self, p: special.multivariate_lgamma(self, p),
        "igamma": lambda self, other: special.lower_gamma(self, other),
        "igammac": lambda self, other: 1 - special.lower_gamma(self, other),
        "lerp": lambda self, end, weight: self + weight * (end - self),
        "addcmul": lambda self, tensor1, tensor2, value=1: self + value * tensor1 * tensor2,
        "addcdiv": lambda self, tensor1, tensor2, value=1: self + value * tensor1 / tensor2,
        # beta self + alpha mat1 mat2, where the pattern has an element
        "sparse_sampled_addmm": lambda self, mat1, mat2, beta=1, alpha=1: beta * self + alpha * mat1 * mat2,
        "clamp_min": lambda self, min: min if self < min else self,
        "clamp_max": lambda self, max: max if self > max else self,
        "eq": lambda self, other: self == other,
        "ne": lambda self, other: self != other,
        "lt": lambda self, other: self < other,
        "le": lambda self, other: self <= other,
        "gt": lambda self, other: self > other,
        "ge": lambda self, other: self >= other,
        "logical_and": lambda self, other: bool(self) and bool(other),
        "logical_or": lambda self, other: bool(self) or bool(other),
        "nan_to_num": lambda self, _nan=None, _posinf=None, _neginf=None: real_only(self),
        "complex": lambda real, imag: complex(real_only(real), real_only(imag)),
        "dist": lambda self, other, p=2: norm(self - other, p),
    }
)


helpers({"cumprod_jvp": lambda tangent, primal, result: tangent * result / primal})
