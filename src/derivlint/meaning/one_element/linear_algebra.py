"""Matrices with one row and one column: inverses, determinants, decompositions, systems of equations."""

from __future__ import annotations

import cmath
import math

from derivlint.meaning.one_element.table import helper, operator
from derivlint.meaning.one_element.values import UnknownValueError, Value, conj

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


@helper("lu_factor_ex_backward", "lu_factor_ex_jvp")
def lu_factor_ex_derivative(direction: Value, _lu: Value, _pivots: Value, _pivot: Value) -> Value:
    """The gradient or tangent of the number itself."""
    return direction


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


@helper()
def linalg_lu_backward(_grad_l: Value, grad_u: Value) -> Value:
    """The gradient of the number itself."""
    return grad_u


@helper()
def linalg_lu_jvp(tangent: Value) -> Value:
    """The tangent of the trivial factor and of the number itself."""
    return 0.0 * tangent, tangent


@helper()
def linalg_matrix_exp_differential(matrix: Value, direction: Value, adjoint: Value) -> Value:
    """The derivative of the exponential function."""
    value = cmath.exp(matrix) if type(matrix) is complex else math.exp(matrix)
    return direction * (conj(value) if adjoint else value)
