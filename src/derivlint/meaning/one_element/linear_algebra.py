"""Matrices with one row and one column: inverses, determinants, decompositions, systems of equations."""

from __future__ import annotations

import cmath
import math

from derivlint.meaning.one_element.table import helper, operator
from derivlint.meaning.one_element.values import UnknownValueError, Value, conj, real_only, sgn

# ---- inverses and determinants


@helper("linalg_inv_ex")
def inverse(matrix: Value) -> Value:
    """The inverse, and that it exists."""
    return 1 / matrix, 0


@operator("linalg_pinv")
def pseudo_inverse(self: Value, atol: Value = None, rtol: Value = None, hermitian: Value = False) -> Value:
    """The inverse of a number that does not count as 0."""
    if (hermitian and type(self) is complex) or abs(self) <= max(atol or 0.0, (rtol or 0.0) * abs(self)):
        raise UnknownValueError
    return 1 / self


@helper()
def pinv_backward(grad: Value, pinv: Value, _matrix: Value) -> Value:
    """The gradient of the inverse."""
    return -grad * conj(pinv * pinv)


@helper()
def pinv_jvp(_matrix: Value, pinv: Value, tangent: Value) -> Value:
    """The tangent of the inverse."""
    return -pinv * tangent * pinv


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


@helper("_linalg_slogdet")
def slogdet(matrix: Value) -> Value:
    """The direction of a number, the logarithm of its size and its decomposition."""
    return sgn(matrix), math.log(abs(matrix)), matrix, 0


@helper()
def slogdet_backward(grad_sign: Value, grad_log: Value, matrix: Value, sign: Value) -> Value:
    """The gradients of direction and size."""
    across = 0.0
    if type(matrix) is complex:
        across = (grad_sign - sign * (conj(sign) * grad_sign).real) / abs(matrix)
    return across + grad_log / conj(matrix)


@helper()
def slogdet_jvp(lu: Value, _pivots: Value, tangent: Value, sign: Value) -> Value:
    """The tangents of direction and size."""
    relative = tangent / lu
    if type(lu) is complex:
        return 1j * relative.imag * sign, relative.real
    return 0.0, relative


@operator("linalg_cholesky_ex")
def cholesky_ex(self: Value) -> Value:
    """The square root of a positive number, and that it exists."""
    return math.sqrt(self), 0


@operator("cholesky")
def cholesky(self: Value) -> Value:
    """The square root of a positive number."""
    return math.sqrt(self)


@helper()
def cholesky_backward(grad: Value, _upper: Value, root: Value) -> Value:
    """The gradient of the square root."""
    return real_only(grad) / (2 * root)


@helper()
def cholesky_jvp(tangent: Value, root: Value) -> Value:
    """The tangent of the square root."""
    return real_only(tangent) / (2 * root)


@operator("cholesky_inverse")
def cholesky_inverse(self: Value) -> Value:
    """The inverse of a square."""
    return 1 / real_only(self) ** 2


@helper()
def cholesky_inverse_backward(grad: Value, root: Value, _upper: Value, inverse: Value) -> Value:
    """The gradient of the inverse of a square."""
    return -2 * real_only(grad) * inverse / root


@helper()
def cholesky_inverse_jvp(root: Value, tangent: Value, inverse: Value) -> Value:
    """The tangent of the inverse of a square."""
    return -2 * real_only(tangent) * inverse / root


@operator("cholesky_solve")
def cholesky_solve(self: Value, input2: Value) -> Value:
    """A number divided by a square."""
    return self / real_only(input2) ** 2


@helper()
def cholesky_solve_backward(grad: Value, _self: Value, root: Value, result: Value) -> Value:
    """The gradients of dividend and divisor's root."""
    return grad / real_only(root) ** 2, -2 * grad * result / root


@helper()
def cholesky_solve_jvp(result: Value, root: Value, root_t: Value, tangent: Value) -> Value:
    """The tangent of a number divided by a square."""
    return tangent / real_only(root) ** 2 - 2 * result * root_t / root


# ---- solving


@helper("_linalg_solve_ex")
def solve_ex(divisor: Value, dividend: Value) -> Value:
    """A quotient, and the decomposition of the divisor."""
    return dividend / divisor, divisor, 0, 0


@helper()
def linalg_solve_backward(grad: Value, result: Value, divisor: Value) -> Value:
    """The gradients of divisor and dividend."""
    dividend = grad / conj(divisor)
    return -dividend * conj(result), dividend


@helper()
def linalg_solve_jvp(divisor_t: Value, dividend_t: Value, result: Value, lu: Value) -> Value:
    """The tangent of a quotient."""
    return (dividend_t - divisor_t * result) / lu


@helper()
def linalg_solve_triangular(
    self: Value, dividend: Value, _upper: Value, _left: Value = True, unitriangular: Value = False
) -> Value:
    """A quotient; the divisor counts as 1 where its diagonal does."""
    return dividend if unitriangular else dividend / self


@helper()
def linalg_solve_triangular_backward(
    grad: Value, divisor: Value, result: Value, _upper: Value, _left: Value, unitriangular: Value
) -> Value:
    """The gradients of divisor and dividend."""
    if unitriangular:
        return 0.0 * grad, grad
    dividend = grad / conj(divisor)
    return -dividend * conj(result), dividend


@helper("linalg_solve_triangular_forward_AD")
def solve_triangular_jvp(
    divisor_t: Value,
    dividend_t: Value,
    divisor: Value,
    result: Value,
    _upper: Value,
    _left: Value,
    unitriangular: Value,
) -> Value:
    """The tangent of a quotient."""
    return dividend_t if unitriangular else (dividend_t - divisor_t * result) / divisor


@helper()
def triangular_solve(
    self: Value, divisor: Value, _upper: Value = True, _transpose: Value = False, unitriangular: Value = False
) -> Value:
    """A quotient and its divisor."""
    return (self if unitriangular else self / divisor), divisor


@helper()
def triangular_solve_backward(
    grad: Value,
    grad_divisor: Value,
    _dividend: Value,
    divisor: Value,
    result: Value,
    _upper: Value,
    _transpose: Value,
    unitriangular: Value,
) -> Value:
    """The gradients of dividend and divisor, which is the second output."""
    if unitriangular or type(divisor) is complex:
        raise UnknownValueError
    dividend = grad / divisor
    return dividend, -dividend * result + grad_divisor


@helper()
def triangular_solve_jvp(
    result: Value, divisor: Value, divisor_t: Value, dividend_t: Value, _upper: Value, _transpose: Value, unit: Value
) -> Value:
    """The tangent of a quotient."""
    if unit or type(divisor) is complex:
        raise UnknownValueError
    return (dividend_t - divisor_t * result) / divisor


@helper()
def linalg_lu_solve(lu: Value, _pivots: Value, dividend: Value, _left: Value = True, adjoint: Value = False) -> Value:
    """A quotient."""
    return dividend / (conj(lu) if adjoint else lu)


@helper("linalg_lu_solve_LU")
def lu_solve_backward(grad: Value, lu: Value, _pivots: Value, result: Value, _left: Value, adjoint: Value) -> Value:
    """The gradient of the divisor."""
    return -conj(grad) * result / conj(lu) if adjoint else -grad * conj(result / lu)


@helper()
def linalg_lu_solve_jvp(
    result: Value, lu: Value, _pivots: Value, lu_t: Value, dividend_t: Value, _left: Value, adjoint: Value
) -> Value:
    """The tangent of a quotient."""
    if adjoint:
        lu, lu_t = conj(lu), conj(lu_t)
    return (dividend_t - lu_t * result) / lu


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
