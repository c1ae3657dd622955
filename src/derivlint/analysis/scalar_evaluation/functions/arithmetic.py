"""Functions of two and more numbers: arithmetic, powers, comparisons, interpolation."""

from __future__ import annotations

import cmath
import math

from derivlint.analysis.scalar_evaluation.functions import special
from derivlint.analysis.scalar_evaluation.functions.table import helper, operator
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value, conj, divided, real_only


@operator("add", "__radd__")
def plus(self: Value, other: Value, alpha: Value = 1) -> Value:
    """The sum."""
    return self + alpha * other


@operator("sub")
def minus(self: Value, other: Value, alpha: Value = 1) -> Value:
    """The difference."""
    return self - alpha * other


@operator()
def rsub(self: Value, other: Value, alpha: Value = 1) -> Value:
    """The difference the other way round."""
    return other - alpha * self


@helper("mul", "mm", "bmm", "mv", "dot", "__rmul__", "multiply", "_sparse_sparse_matmul")
def product(self: Value, other: Value) -> Value:
    """A product of numbers, whatever it is of matrices and vectors; ``dot`` does not conjugate."""
    return self * other


@operator()
def vdot(self: Value, other: Value) -> Value:
    """The inner product."""
    return conj(self) * other


@operator("div", "divide", "true_divide")
def quotient(self: Value, other: Value, rounding_mode: Value = None) -> Value:
    """The quotient, rounded if asked for."""
    if rounding_mode is None:
        return divided(self, other)
    exact = real_only(self) / real_only(other)
    return float(math.floor(exact) if rounding_mode == "floor" else math.trunc(exact))


@operator()
def fmod(self: Value, other: Value) -> Value:
    """The remainder with the sign of the dividend."""
    return math.fmod(self, other)


@operator()
def remainder(self: Value, other: Value) -> Value:
    """The remainder with the sign of the divisor."""
    return self - other * math.floor(self / other)


def power(base: Value, exponent: Value) -> Value:
    """A power; of a negative real number only where it is real."""
    if type(base) is complex or type(exponent) is complex:
        return cmath.exp(exponent * cmath.log(base)) if base else complex(base) ** exponent
    if base < 0 and exponent != int(exponent):
        raise UnknownValueError
    if base == 0 and exponent < 0:
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
    return float(base) ** exponent


@operator("pow", "float_power")
def pow_(self: Value, exponent: Value) -> Value:
    """A power."""
    return power(self, exponent)


@operator()
def ldexp(self: Value, other: Value) -> Value:
    """A number times a power of 2."""
    return self * power(2.0, other)


@operator()
def atan2(self: Value, other: Value) -> Value:
    """The angle of a point."""
    return math.atan2(self, other)


@operator()
def nextafter(self: Value, other: Value) -> Value:
    """The next number in the direction of another."""
    return math.nextafter(self, other)


@operator()
def hypot(self: Value, other: Value) -> Value:
    """The length of a vector."""
    return math.hypot(self, other)


@operator()
def copysign(self: Value, other: Value) -> Value:
    """A magnitude with a sign."""
    return math.copysign(self, other)


@operator()
def logaddexp(self: Value, other: Value) -> Value:
    """The logarithm of a sum of exponentials."""
    if type(self) is complex or type(other) is complex:
        return cmath.log(cmath.exp(self) + cmath.exp(other))
    return math.log(math.exp(self) + math.exp(other))


@operator()
def logaddexp2(self: Value, other: Value) -> Value:
    """The logarithm of a sum of powers of 2, to base 2."""
    return math.log2(2.0 ** real_only(self) + 2.0 ** real_only(other))


@operator()
def xlogy(self: Value, other: Value) -> Value:
    """X log y; linear in x for any sign of x, and zero times infinity is zero."""
    # PyTorch returns zero for negative numbers as well, for which it documents the operator as not defined
    return 0.0 if self == other == 0 else self * math.log(other)


@operator()
def special_xlog1py(self: Value, other: Value) -> Value:
    """X log (1 + y)."""
    return xlogy(self, other + 1) if other == -1 else self * math.log1p(other)


@operator()
def special_zeta(self: Value, other: Value) -> Value:
    """The Hurwitz zeta function."""
    return special.zeta(self, other)


@operator()
def polygamma(n: Value, self: Value) -> Value:
    """A derivative of the digamma function."""
    return special.polygamma(n, self)


@operator()
def mvlgamma(self: Value, p: Value) -> Value:
    """The multivariate log-gamma function."""
    return special.multivariate_lgamma(self, p)


@operator()
def igamma(self: Value, other: Value) -> Value:
    """The regularized lower incomplete gamma function."""
    return special.lower_gamma(self, other)


@operator()
def igammac(self: Value, other: Value) -> Value:
    """The regularized upper incomplete gamma function."""
    return 1 - special.lower_gamma(self, other)


@operator()
def lerp(self: Value, end: Value, weight: Value) -> Value:
    """Linear interpolation."""
    return self + weight * (end - self)


@operator()
def addcmul(self: Value, tensor1: Value, tensor2: Value, value: Value = 1) -> Value:
    """A number plus a multiple of a product."""
    return self + value * tensor1 * tensor2


@operator()
def addcdiv(self: Value, tensor1: Value, tensor2: Value, value: Value = 1) -> Value:
    """A number plus a multiple of a quotient."""
    return self + value * tensor1 / tensor2


@helper("addmm", "addmv", "addr", "addbmm", "baddbmm", "_sparse_addmm")
def plus_product(self: Value, first: Value, second: Value, beta: Value = 1, alpha: Value = 1) -> Value:
    """A multiple of a number plus a multiple of a product."""
    return beta * self + alpha * first * second


@operator()
def sparse_sampled_addmm(self: Value, mat1: Value, mat2: Value, beta: Value = 1, alpha: Value = 1) -> Value:
    """A multiple of a number plus a multiple of a product, where the pattern has an element."""
    return beta * self + alpha * mat1 * mat2


@operator("maximum")
def maximum(self: Value, other: Value) -> Value:
    """The greater of two numbers; NaN where one of them is."""
    return math.nan if math.isnan(self) or math.isnan(other) else max(real_only(self), real_only(other))


@operator("minimum")
def minimum(self: Value, other: Value) -> Value:
    """The smaller of two numbers; NaN where one of them is."""
    return math.nan if math.isnan(self) or math.isnan(other) else min(real_only(self), real_only(other))


@operator()
def fmax(self: Value, other: Value) -> Value:
    """The greater of two numbers, the other one where one is NaN."""
    return other if math.isnan(self) else self if math.isnan(other) else max(real_only(self), real_only(other))


@operator()
def fmin(self: Value, other: Value) -> Value:
    """The smaller of two numbers, the other one where one is NaN."""
    return other if math.isnan(self) else self if math.isnan(other) else min(real_only(self), real_only(other))


@operator("clamp")
def clamp(self: Value, min: Value = None, max: Value = None) -> Value:
    """A number clamped to two bounds; where they cross, the upper one wins."""
    if min is not None and self < min:
        self = min
    return max if max is not None and self > max else self


@operator()
def clamp_min(self: Value, min: Value) -> Value:
    """A number that is at least so great."""
    return min if self < min else self


@operator()
def clamp_max(self: Value, max: Value) -> Value:
    """A number that is at most so great."""
    return max if self > max else self


@operator("eq")
def equal(self: Value, other: Value) -> Value:
    """Whether two numbers are equal."""
    return self == other


@operator("ne")
def not_equal(self: Value, other: Value) -> Value:
    """Whether two numbers differ."""
    return self != other


@operator("lt")
def less(self: Value, other: Value) -> Value:
    """Whether a number is less than another."""
    return self < other


@operator("le")
def less_equal(self: Value, other: Value) -> Value:
    """Whether a number is at most another."""
    return self <= other


@operator("gt")
def greater(self: Value, other: Value) -> Value:
    """Whether a number is greater than another."""
    return self > other


@operator("ge")
def greater_equal(self: Value, other: Value) -> Value:
    """Whether a number is at least another."""
    return self >= other


@operator("logical_and")
def both(self: Value, other: Value) -> Value:
    """Whether both hold."""
    return bool(self) and bool(other)


@operator("logical_or")
def either(self: Value, other: Value) -> Value:
    """Whether one of both holds."""
    return bool(self) or bool(other)


@operator()
def nan_to_num(self: Value, _nan: Value = None, _posinf: Value = None, _neginf: Value = None) -> Value:
    """A finite number stays."""
    return real_only(self)


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


@operator("complex")
def complex_number(real: Value, imag: Value) -> Value:
    """A complex number of its parts."""
    return complex(real_only(real), real_only(imag))


@operator()
def polar(abs: Value, angle: Value) -> Value:
    """A complex number in polar coordinates; a radius is positive."""
    if abs <= 0:
        raise UnknownValueError
    return cmath.rect(real_only(abs), real_only(angle))


@helper("norm", "linalg_vector_norm")
def norm(self: Value, p: Value = 2, _dim: Value = None, _keepdim: Value = None, _dtype: Value = None) -> Value:
    """The norm of one number is its absolute value, but for p = 0."""
    if p == 0:
        return float(self != 0)
    return abs(self)


@operator()
def dist(self: Value, other: Value, p: Value = 2) -> Value:
    """The distance of two numbers."""
    return norm(self - other, p)


@operator("_cdist_forward", "_euclidean_dist")
def distance(x1: Value, x2: Value, p: Value = 2.0) -> Value:
    """The distance of two points on a line."""
    return norm(x1 - x2, p)
