"""Special functions of real numbers that Python's ``math`` lacks, to about twelve digits.

Written from Abramowitz and Stegun, Handbook of Mathematical Functions: 6.3 (digamma), 23.2 (zeta), 9.1 and 9.6
(Bessel), 6.5 (incomplete gamma), 7.1 (error function).
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator

from derivlint.analysis.scalar_evaluation.values import UnknownValueError

#: B(2k) / (2k)! of the Euler-Maclaurin sum.
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)
_TERMS = 12
_EULER = 0.5772156649015329
#: The largest argument of alternating power series; beyond, cancellation between terms is too large.
_LARGEST_OF_SERIES = 20.0
#: The step of the trapezoidal rule, which is exact to double precision for fast decaying integrands.
_STEP = 0.05
#: The hyperbolic cosines at the steps, as far as arguments from 1e-8 need them.
_HYPERBOLIC_COSINES = tuple(math.cosh(_STEP * step) for step in range(1, 480))
#: exp(-x) is zero beyond.
_UNDERFLOW = 745.0
#: The maximum order, which a formula could choose arbitrarily large.
HIGHEST = 30


def digamma(x: float) -> float:
    """The logarithmic derivative of the gamma function."""
    if x <= 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * x)
    total = 0.0
    while x < 10:
        total -= 1 / x
        x += 1
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return total + math.log(x) - 0.5 / x - series


def zeta(s: float, q: float) -> float:
    """The Hurwitz zeta function for s > 1 and q > 0, by the Euler-Maclaurin sum."""
    if s <= 1 or q <= 0:
        raise UnknownValueError
    total = math.fsum((q + k) ** -s for k in range(_TERMS))
    a = q + _TERMS
    total += a ** (1 - s) / (s - 1) + 0.5 * a**-s
    factor = s
    power = a ** (-s - 1)
    for index, number in enumerate(_BERNOULLI):
        total += number * factor * power
        factor *= (s + 2 * index + 1) * (s + 2 * index + 2)
        power /= a * a
    return float(total)


def polygamma(n: int, x: float) -> float:
    """The derivative of order n of the digamma function."""
    if not 0 <= n <= HIGHEST:
        raise UnknownValueError
    if n == 0:
        return digamma(x)
    return (-1.0) ** (n + 1) * math.factorial(n) * zeta(n + 1.0, x)


def erfinv(y: float) -> float:
    """The inverse of the error function, by Newton's method from a rough initial value."""
    if not -1 < y < 1:
        raise UnknownValueError
    w = math.log(1 - y * y)
    b = 2 / (math.pi * 0.147) + w / 2
    x = math.copysign(math.sqrt(math.sqrt(b * b - w / 0.147) - b), y)
    for _ in range(4):
        x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
    return x


def erfcx(x: float) -> float:
    """The scaled complementary error function."""
    return math.exp(x * x) * math.erfc(x)


def log_ndtr(x: float) -> float:
    """The logarithm of the normal distribution function."""
    return math.log(0.5 * math.erfc(-x / math.sqrt(2)))


def ndtri(y: float) -> float:
    """The inverse of the normal distribution function."""
    return math.sqrt(2) * erfinv(2 * y - 1)


def bessel_i(order: int, x: float) -> float:
    """The modified Bessel function of the first kind of order 0 or 1, by its power series."""
    term = (x / 2) ** order
    total = term
    k = 1
    while abs(term) > 1e-17 * abs(total):
        term *= (x / 2) ** 2 / (k * (k + order))
        total += term
        k += 1
    return total


def bessel_j(order: int, x: float) -> float:
    """The Bessel function of the first kind of order 0 or 1, by its power series; for x below 20."""
    if abs(x) > _LARGEST_OF_SERIES:
        raise UnknownValueError
    return math.fsum(_bessel_terms(order, x))


def _bessel_terms(order: int, x: float) -> Iterator[float]:
    term = (x / 2) ** order
    k = 0
    while abs(term) > 1e-18 or k < abs(x):
        yield term
        k += 1
        term *= -((x / 2) ** 2) / (k * (k + order))


def bessel_y(order: int, x: float) -> float:
    """The Bessel function of the second kind of order 0 or 1, by its power series; for x from 0 to 20."""
    if x <= 0:
        raise UnknownValueError
    total = 2 * math.log(x / 2) * bessel_j(order, x)
    # psi(k + 1) + psi(k + order + 1), from psi(1) and harmonic sums
    first = -_EULER
    second = first + (1.0 if order else 0.0)
    for k, term in enumerate(_bessel_terms(order, x)):
        total -= (first + second) * term
        first += 1 / (k + 1)
        second += 1 / (k + order + 1)
    return (total - (2 / x if order else 0.0)) / math.pi


def bessel_k(order: int, x: float) -> float:
    """The modified Bessel function of the second kind, of order 0 or 1.

    It is the integral of exp(-x cosh t) cosh(n t), taken by equal steps.
    """
    if x <= 0:
        raise UnknownValueError
    cosines = _HYPERBOLIC_COSINES[: bisect(_HYPERBOLIC_COSINES, _UNDERFLOW / x)]
    rest = math.fsum(math.exp(-x * cosine) * cosine**order for cosine in cosines)
    return _STEP * (0.5 * math.exp(-x) + rest)


def lower_gamma(a: float, x: float) -> float:
    """The regularized lower incomplete gamma function, by its power series."""
    if a <= 0 or x <= 0:
        raise UnknownValueError
    term = 1 / a
    total = term
    k = 1
    while term > 1e-17 * total:
        term *= x / (a + k)
        total += term
        k += 1
    return total * math.exp(-x + a * math.log(x) - math.lgamma(a))


def multivariate_lgamma(x: float, p: int) -> float:
    """The logarithm of the multivariate gamma function."""
    if not 0 < p <= HIGHEST:
        raise UnknownValueError
    return p * (p - 1) / 4 * math.log(math.pi) + sum(math.lgamma(x - j / 2) for j in range(p))
