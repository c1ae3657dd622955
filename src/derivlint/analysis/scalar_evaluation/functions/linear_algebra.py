"""Matrices with one row and one column: inverses, determinants, decompositions, systems of equations."""

from __future__ import annotations

import cmath
import math

from derivlint.analysis.scalar_evaluation.functions.table import helper, operator
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value, conj, real_only, sgn

# ---- inverses and determinants


@operator("linalg_pinv")
def pseudo_inverse(self: Value, atol: Value = None, rtol: Value = None, hermitian: Value = False) -> Value:
    """The inverse of a number that does not count as 0."""
    if (hermitian and type(self) is complex) or abs(self) <= max(atol or 0.0, (rtol or 0.0) * abs(self)):
        raise UnknownValueError
    return 1 / self


@helper("_linalg_det")
def determinant(matrix: Value) -> Value:
    """The number itself and its decomposition."""
    return matrix, matrix, 0


@helper()
def linalg_det_backward(grad: Value, _det: Value, _matrix: Value, _lu: Value, _pivots: Value) -> Value:
    """The gradient of the number itself."""
    return grad


@helper()
def linalg_det_jvp(tangent: Value, _det: Value, _lu: Value, _pivots: Value) -> Value:
    """The tangent of the number itself."""
    return tangent


@operator("linalg_cholesky_ex")
def cholesky_ex(self: Value, _upper: Value = False, _check_errors: Value = False) -> Value:
    """The square root of a positive number, and that it exists."""
    return math.sqrt(self), 0


# ---- solving


@helper("_linalg_solve_ex")
def solve_ex(divisor: Value, dividend: Value, _left: Value = True, _check_errors: Value = False) -> Value:
    """A quotient, and the decomposition of the divisor."""
    return dividend / divisor, divisor, 0, 0


@helper()
def linalg_solve_triangular(
    self: Value, dividend: Value, _upper: Value, _left: Value = True, unitriangular: Value = False
) -> Value:
    """A quotient; the divisor counts as 1 where its diagonal does."""
    return dividend if unitriangular else dividend / self


@helper()
def linalg_lu_solve(lu: Value, _pivots: Value, dividend: Value, _left: Value = True, adjoint: Value = False) -> Value:
    """A quotient."""
    return dividend / (conj(lu) if adjoint else lu)


@helper("linalg_lu_factor_ex")
def lu_factor_ex(matrix: Value) -> Value:
    """The number itself."""
    return matrix, 0, 0


@helper("linalg_lu")
def lu(matrix: Value) -> Value:
    """The number itself, with a trivial left factor."""
    return 1.0, 1.0 + 0.0 * matrix, matrix


@operator()
def lu_unpack(
    LU_data: Value,  # noqa: N803 - as in the schema
    _LU_pivots: Value,  # noqa: N803
    _unpack_data: Value = True,
    _unpack_pivots: Value = True,
) -> Value:
    """The number itself, with a trivial left factor."""
    return lu(LU_data)


@operator("linalg_eig")
def eigenvalue(self: Value) -> Value:
    """The number itself, with a trivial vector."""
    return complex(self), 1 + 0j


@operator("_linalg_eigh")
def hermitian_eigenvalue(A: Value, compute_v: Value = True) -> Value:  # noqa: N803 - as in the schema
    """The real part, with a trivial vector."""
    if not compute_v:
        raise UnknownValueError
    return float(A.real), 1.0 + 0.0 * A


@operator("linalg_qr")
def qr(A: Value, mode: Value = "reduced") -> Value:  # noqa: N803 - as in the schema
    """The number itself, with a trivial left factor."""
    if mode == "r":
        raise UnknownValueError
    return 1.0, real_only(A)


@operator("_linalg_svd")
def svd(A: Value) -> Value:  # noqa: N803 - as in the schema
    """The sign, the absolute value and a trivial right factor."""
    return sgn(real_only(A)), abs(A), 1.0


@operator("linalg_polar")
def polar_factors(A: Value) -> Value:  # noqa: N803 - as in the schema
    """The sign and the absolute value."""
    return sgn(real_only(A)), abs(A)


@helper()
def linalg_polar_backward(_grad_u: Value, grad_h: Value, _matrix: Value, u: Value, _h: Value) -> Value:
    """The gradient of the absolute value."""
    return u * grad_h


@helper()
def linalg_polar_jvp(tangent: Value, _matrix: Value, u: Value, _h: Value) -> Value:
    """The tangent of the absolute value; the sign does not move."""
    return 0.0, u * tangent


@operator()
def linalg_matrix_sqrth(self: Value) -> Value:
    """The square root of a positive number."""
    return math.sqrt(self)


@helper()
def linalg_matrix_sqrth_differential(self: Value, direction: Value) -> Value:
    """The derivative of the square root."""
    return direction / (2 * math.sqrt(self))


# ---- reflections: the vector of the only one is 1


@operator("linalg_householder_product")
def householder_product(input: Value, tau: Value) -> Value:
    """A reflection; the vector below the diagonal is empty."""
    return 1 - tau + 0.0 * input


@helper()
def householder_product_backward(grad: Value, _result: Value, _input: Value, _tau: Value) -> Value:
    """The gradients of the vector and of its factor."""
    return 0.0 * grad, -grad


@helper()
def householder_product_jvp(_vector: Value, tangent: Value) -> Value:
    """The tangent of the reflection."""
    return -tangent


@operator()
def ormqr(self: Value, input2: Value, input3: Value, _left: Value = True, transpose: Value = False) -> Value:
    """A number, reflected."""
    return householder_product(self, conj(input2) if transpose else input2) * input3


@helper()
def ormqr_backward(
    grad: Value, _result: Value, _self: Value, tau: Value, other: Value, _left: Value, transpose: Value
) -> Value:
    """The gradients of the vector, of its factor and of the number."""
    factor = -conj(grad) * other if transpose else -grad * conj(other)
    return 0.0 * grad, factor, grad * (1 - (tau if transpose else conj(tau)))


@helper()
def linalg_matrix_exp_differential(matrix: Value, direction: Value, adjoint: Value) -> Value:
    """The derivative of the exponential function."""
    value = cmath.exp(matrix) if type(matrix) is complex else math.exp(matrix)
    return direction * (conj(value) if adjoint else value)
