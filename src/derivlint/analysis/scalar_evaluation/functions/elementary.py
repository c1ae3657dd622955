"""Elementary functions of one number, by ATen name."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable

from derivlint.analysis.scalar_evaluation.functions import special
from derivlint.analysis.scalar_evaluation.functions.table import helpers, operators
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value, conj, divided, sgn

Real = Callable[[float], Value]
Complex = Callable[[complex], Value]

_LN2 = math.log(2)


def _inverse(value: float) -> Value:
    return divided(1.0, value)


def _logarithm(function: Callable[[float], float], pole: float = 0.0) -> Real:
    return lambda value: -math.inf if value == pole else function(value)


def _entropy(value: float) -> float:
    if value < 0:
        # minus infinity, which has no derivative
        raise UnknownValueError
    return -value * math.log(value) if value else 0.0


#: The function of real numbers, and that of complex numbers if ATen supports them.
UNARY: dict[str, tuple[Real, Complex | None]] = {
    "abs": (abs, abs),
    "acos": (math.acos, cmath.acos),
    "acosh": (math.acosh, cmath.acosh),
    "angle": (lambda x: math.pi if x < 0 else 0.0, cmath.phase),
    "asin": (math.asin, cmath.asin),
    "asinh": (math.asinh, cmath.asinh),
    "atan": (math.atan, cmath.atan),
    "atanh": (math.atanh, cmath.atanh),
    "ceil": (lambda x: float(math.ceil(x)), None),
    "conj": (conj, conj),
    "conj_physical": (conj, conj),
    "_conj": (conj, conj),
    "_conj_physical": (conj, conj),
    "mH": (conj, conj),
    "H": (conj, conj),
    "cos": (math.cos, cmath.cos),
    "cosh": (math.cosh, cmath.cosh),
    "deg2rad": (math.radians, None),
    "digamma": (special.digamma, None),
    "erf": (math.erf, None),
    "erfc": (math.erfc, None),
    "erfinv": (special.erfinv, None),
    "exp": (math.exp, cmath.exp),
    "exp2": (lambda x: math.exp(_LN2 * x), lambda z: cmath.exp(_LN2 * z)),
    "expm1": (math.expm1, lambda z: cmath.exp(z) - 1),
    "floor": (lambda x: float(math.floor(x)), None),
    "frac": (lambda x: x - math.trunc(x), None),
    "i0": (lambda x: special.bessel_i(0, x), None),
    "imag": (lambda _: 0.0, lambda z: z.imag),
    "isfinite": (math.isfinite, cmath.isfinite),
    "isnan": (math.isnan, cmath.isnan),
    "lgamma": (math.lgamma, None),
    "log": (_logarithm(math.log), cmath.log),
    "log10": (_logarithm(math.log10), cmath.log10),
    "log1p": (_logarithm(math.log1p, -1.0), lambda z: cmath.log(1 + z)),
    "log2": (_logarithm(math.log2), lambda z: cmath.log(z) / _LN2),
    "logical_not": (lambda x: not x, lambda z: not z),
    "linalg_matrix_exp": (math.exp, cmath.exp),
    "matrix_exp": (math.exp, cmath.exp),
    "neg": (lambda x: -x, lambda z: -z),
    "_neg_view": (lambda x: -x, lambda z: -z),
    "rad2deg": (math.degrees, None),
    "real": (lambda x: x, lambda z: z.real),
    "reciprocal": (_inverse, lambda z: 1 / z),
    "rsqrt": (lambda x: _inverse(math.sqrt(x)), lambda z: 1 / cmath.sqrt(z)),
    "sgn": (sgn, sgn),
    "sigmoid": (lambda x: 1 / (1 + math.exp(-x)), lambda z: 1 / (1 + cmath.exp(-z))),
    "sign": (sgn, None),
    "sin": (math.sin, cmath.sin),
    "sinc": (
        lambda x: math.sin(math.pi * x) / (math.pi * x) if x else 1.0,
        lambda z: cmath.sin(math.pi * z) / (math.pi * z),
    ),
    "sinh": (math.sinh, cmath.sinh),
    "special_bessel_j0": (lambda x: special.bessel_j(0, x), None),
    "special_bessel_j1": (lambda x: special.bessel_j(1, x), None),
    "special_bessel_y0": (lambda x: special.bessel_y(0, x), None),
    "special_bessel_y1": (lambda x: special.bessel_y(1, x), None),
    "special_modified_bessel_i0": (lambda x: special.bessel_i(0, x), None),
    "special_modified_bessel_i1": (lambda x: special.bessel_i(1, x), None),
    "special_modified_bessel_k0": (lambda x: special.bessel_k(0, x), None),
    "special_modified_bessel_k1": (lambda x: special.bessel_k(1, x), None),
    "special_entr": (_entropy, None),
    "special_erfcx": (special.erfcx, None),
    "special_i0e": (lambda x: math.exp(-abs(x)) * special.bessel_i(0, x), None),
    "special_i1": (lambda x: special.bessel_i(1, x), None),
    "special_i1e": (lambda x: math.exp(-abs(x)) * special.bessel_i(1, x), None),
    "special_log_ndtr": (special.log_ndtr, None),
    "special_ndtri": (special.ndtri, None),
    "sqrt": (math.sqrt, cmath.sqrt),
    "tan": (math.tan, cmath.tan),
    "tanh": (math.tanh, cmath.tanh),
    "trunc": (lambda x: float(math.trunc(x)), None),
}


def _both(real: Real, holomorphic: Complex | None) -> Callable[[Value], Value]:
    def function(self: Value) -> Value:
        if type(self) is complex:
            if holomorphic is None:
                raise UnknownValueError
            return holomorphic(self)
        try:
            return real(self)
        except ValueError:
            # outside of the domain, as in ATen
            return math.nan

    return function


helpers({name: _both(real, holomorphic) for name, (real, holomorphic) in UNARY.items()})
operators({"round": lambda self, decimals=0: float(round(self, decimals))})
