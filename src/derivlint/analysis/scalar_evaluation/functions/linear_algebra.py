"""Linear algebra of 1x1 matrices: inverses, determinants, decompositions, systems of equations."""

from __future__ import annotations

import cmath
import math

from derivlint.analysis.scalar_evaluation.functions.table import helper, helpers, operator, operators
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value, conj, real_only, sgn

# ---- inverses and determinants


@operator("linalg_pinv")
def pseudo_inverse(self: Value, atol: Value = None, rtol: Value = None, hermitian: Value = False) -> Value:
    """The inverse of a number, or 0 below the tolerance."""
    if (hermitian and type(self) is complex) or abs(self) <= max(atol or 0.0, (rtol or 0.0) * abs(self)):
        raise UnknownValueError
    return 1 / self


operators(
    {
        "linalg_cholesky_ex": lambda self, _upper=False, _check_errors=False: (math.sqrt(self), 0),
    }
)


helpers(
    {
        "_linalg_det": lambda matrix: (matrix, matrix, 0),
    }
)


# ---- solving


@helper()
def linalg_solve_triangular(
    self: Value, dividend: Value, _upper: Value, _left: Value = True, unitriangular: Value = False
) -> Value:
    """The quotient; the divisor is 1 if unitriangular."""
    return dividend if unitriangular else dividend / self


@helper()
def linalg_lu_solve(lu: Value, _pivots: Value, dividend: Value, _left: Value = True, adjoint: Value = False) -> Value:
    """The quotient."""
    return dividend / (conj(lu) if adjoint else lu)


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


@operator("_linalg_eigh")
def hermitian_eigenvalue(A: Value, compute_v: Value = True) -> Value:  # noqa: N803 - as in the schema
    """The real part, with a trivial eigenvector."""
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


operators(
    {
        # the number itself, with a trivial vector
        "linalg_eig": lambda self: (complex(self), 1 + 0j),
        "linalg_matrix_sqrth": lambda self: math.sqrt(self),
    }
)


helpers(
    {
        "_linalg_solve_ex": lambda divisor, dividend, _left=True, _check_errors=False: (
            dividend / divisor,
            divisor,
            0,
            0,
        ),
        "linalg_lu_factor_ex": lambda matrix: (matrix, 0, 0),
        # the gradient of the absolute value
        "linalg_polar_backward": lambda _grad_u, grad_h, _matrix, u, _h: u * grad_h,
        # the tangent of the absolute value; that of the sign is zero
        "linalg_polar_jvp": lambda tangent, _matrix, u, _h: (0.0, u * tangent),
        "linalg_matrix_sqrth_differential": lambda self, direction: direction / (2 * math.sqrt(self)),
    }
)


# ---- the only reflection, whose vector is 1


@operator("linalg_householder_product")
def householder_product(input: Value, tau: Value) -> Value:
    """A reflection; its vector has no elements below the diagonal."""
    return 1 - tau + 0.0 * input


@operator()
def ormqr(self: Value, input2: Value, input3: Value, _left: Value = True, transpose: Value = False) -> Value:
    """The number, reflected."""
    return householder_product(self, conj(input2) if transpose else input2) * input3


@helper()
def ormqr_backward(
    grad: Value, _result: Value, _self: Value, tau: Value, other: Value, _left: Value, transpose: Value
) -> Value:
    """The gradients of the vector, its factor and the number."""
    factor = -conj(grad) * other if transpose else -grad * conj(other)
    return 0.0 * grad, factor, grad * (1 - (tau if transpose else conj(tau)))


@helper()
def linalg_matrix_exp_differential(matrix: Value, direction: Value, adjoint: Value) -> Value:
    """The derivative of the exponential function."""
    value = cmath.exp(matrix) if type(matrix) is complex else math.exp(matrix)
    return direction * (conj(value) if adjoint else value)


helpers(
    {
        # the gradients of the vector and of its factor
        "householder_product_backward": lambda grad, _result, _input, _tau: (0.0 * grad, -grad),
        # the tangent of the reflection
        "householder_product_jvp": lambda _vector, tangent: -tangent,
    }
)
