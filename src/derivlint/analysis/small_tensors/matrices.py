"""Linear algebra of small real matrices: systems of equations, factorizations, the exponential function.

Factorizations that are unique up to signs have the signs that vary continuously with the matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import mul

from derivlint.analysis.scalar_evaluation.values import UnknownValueError
from derivlint.analysis.small_tensors.products import matmul
from derivlint.analysis.small_tensors.tensor import (
    SmallTensor,
    Value,
    broadcast_to,
    filled,
    helper,
    helpers,
    operator,
    tensor_of,
)
from derivlint.analysis.small_tensors.view_ops import matrix_transposed
from derivlint.operators.shapes import size_functions as sizes_by
from derivlint.operators.shapes.size_values import Sizes, SizesError

#: The rows of a matrix.
Matrix = list[list[float]]

#: The maximum number of rows and columns, and of elements that are varied one by one; a formula can request any sizes.
_LARGEST_SIDE = 8
_MOST_VARIED = 64
#: The largest pivot that counts as zero, and the rotations of columns after which a factorization is given up.
_ZERO = 1e-9
_SWEEPS = 30
#: The terms of the exponential series, and the largest element for which they suffice.
_TERMS = 40
_LARGEST_EXPONENT = 8
#: The step of central differences.
_STEP = 1e-5


def _matrices(value: Value) -> list[Matrix]:
    """The matrices of a batch."""
    tensor = tensor_of(value)
    height, width = tensor.sizes[-2:]
    if max(height, width) > _LARGEST_SIDE:
        raise SizesError
    rows = [list(tensor.items[at * width : (at + 1) * width]) for at in range(math.prod(tensor.sizes[:-1]))]
    return [rows[at * height : (at + 1) * height] for at in range(math.prod(tensor.sizes[:-2]))]


def _batch(batch: Sequence[int], matrices: Sequence[Matrix]) -> SmallTensor:
    height, width = len(matrices[0]), len(matrices[0][0])
    return SmallTensor(Sizes((*batch, height, width)), [item for matrix in matrices for row in matrix for item in row])


def _mapped(function: Callable[..., tuple[Matrix, ...]], *values: Value) -> tuple[SmallTensor, ...]:
    """Apply a function of matrices to each matrix of batches that broadcast."""
    tensors = [tensor_of(value) for value in values]
    batch = sizes_by.broadcast(*[Sizes(tensor.sizes[:-2]) for tensor in tensors])
    columns = [_matrices(broadcast_to(tensor, Sizes((*batch, *tensor.sizes[-2:])))) for tensor in tensors]
    results = [function(*matrices) for matrices in zip(*columns, strict=True)]
    return tuple(_batch(batch, matrices) for matrices in zip(*results, strict=True))


def _transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix, strict=True)]


def _product(left: Matrix, right: Matrix) -> Matrix:
    columns = _transposed(right)
    return [[sum(map(mul, row, column)) for column in columns] for row in left]


def _identity(size: int) -> Matrix:
    return [[float(row == column) for column in range(size)] for row in range(size)]


# ---- systems of equations


def _factored(matrix: Matrix) -> tuple[Matrix, list[int]]:
    """The factors L and U in one matrix, and the row with which each row was exchanged, from 0."""
    rows = [list(row) for row in matrix]
    pivots = []
    for at in range(min(len(rows), len(rows[0]))):
        pivot = max(range(at, len(rows)), key=lambda row: abs(rows[row][at]))
        if abs(rows[pivot][at]) < _ZERO:
            raise UnknownValueError
        rows[at], rows[pivot] = rows[pivot], rows[at]
        pivots.append(pivot)
        for row in rows[at + 1 :]:
            row[at] /= rows[at][at]
            for column in range(at + 1, len(row)):
                row[column] -= row[at] * rows[at][column]
    return rows, pivots


def _triangular_solution(matrix: Matrix, right: Matrix, upper: bool, unit: bool) -> Matrix:
    size = len(matrix)
    solution = [list(row) for row in right]
    for at in reversed(range(size)) if upper else range(size):
        for row in range(at + 1, size) if upper else range(at):
            factor = matrix[at][row]
            solution[at] = [item - factor * solved for item, solved in zip(solution[at], solution[row], strict=True)]
        if not unit:
            solution[at] = [item / matrix[at][at] for item in solution[at]]
    return solution


def _solution(matrix: Matrix, right: Matrix) -> tuple[Matrix]:
    factors, pivots = _factored(matrix)
    rows = [list(row) for row in right]
    for at, pivot in enumerate(pivots):
        rows[at], rows[pivot] = rows[pivot], rows[at]
    return (_triangular_solution(factors, _triangular_solution(factors, rows, False, True), True, False),)


def _solve(function: Callable[[Matrix, Matrix], tuple[Matrix]], matrix: Value, right: Value) -> SmallTensor:
    """Apply a solver of one system to batches of square matrices."""
    rows, columns = tensor_of(matrix).sizes[-2:]
    if not rows == columns == tensor_of(right).sizes[-2]:
        raise SizesError
    return _mapped(function, matrix, right)[0]


@helper("linalg_solve")
def solve(A: Value, B: Value, left: Value = True) -> Value:  # noqa: N803 - as in the schema
    """The solution of ``A X = B``, or of ``X A = B``; a batch of vectors is one of columns."""
    if sizes_by.is_vector(tensor_of(A).sizes, tensor_of(B).sizes):
        tensor = tensor_of(B)
        column = _solve(_solution, A, SmallTensor(Sizes((*tensor.sizes, 1)), tensor.items))
        return SmallTensor(Sizes(column.sizes[:-1]), column.items)
    if not left:
        return matrix_transposed(solve(matrix_transposed(A), matrix_transposed(B)))
    return _solve(_solution, A, B)


@operator("_linalg_solve_ex")
def solve_ex(A: Value, B: Value, left: Value = True, _check_errors: Value = False) -> Value:  # noqa: N803
    """The solution, the factors and the pivots."""
    return (solve(A, B, left), *lu_factor(A))


@helper("linalg_lu_factor_ex")
def lu_factor(A: Value, pivot: Value = True, _check_errors: Value = False) -> Value:  # noqa: N803
    """The factors L and U in one matrix, and the pivots, from 1."""
    if not pivot:
        raise UnknownValueError
    factors, pivots = _mapped(_lu_factor, A)
    return factors, SmallTensor(Sizes(pivots.sizes[:-1]), pivots.items), _no_errors(A)


def _no_errors(matrices: Value) -> SmallTensor:
    return filled(tensor_of(matrices).sizes[:-2], 0)


def _lu_factor(matrix: Matrix) -> tuple[Matrix, Matrix]:
    factors, pivots = _factored(matrix)
    return factors, [[pivot + 1] for pivot in pivots]


def _rows_of_pivots(pivots: Value) -> list[list[int]]:
    tensor = tensor_of(pivots)
    count = tensor.sizes[-1]
    return [[pivot - 1 for pivot in tensor.items[at : at + count]] for at in range(0, len(tensor.items), count)]


@helper("linalg_lu_solve")
def lu_solve(LU: Value, pivots: Value, B: Value, left: Value = True, adjoint: Value = False) -> Value:  # noqa: N803
    """The solution with the matrix that has these factors."""
    permutation, lower, upper = lu_unpack(LU, pivots)
    matrix = matmul(permutation, matmul(lower, upper))
    return solve(matrix_transposed(matrix) if adjoint else matrix, B, left)


@operator()
def lu_unpack(
    LU_data: Value,  # noqa: N803
    LU_pivots: Value,  # noqa: N803
    _unpack_data: Value = True,
    _unpack_pivots: Value = True,
) -> Value:
    """The permutation and the two factors."""
    tensor = tensor_of(LU_data)
    unpacked = [
        _unpacked(factors, pivots)
        for factors, pivots in zip(_matrices(tensor), _rows_of_pivots(LU_pivots), strict=True)
    ]
    return tuple(_batch(tensor.sizes[:-2], matrices) for matrices in zip(*unpacked, strict=True))


def _unpacked(factors: Matrix, pivots: Sequence[int]) -> tuple[Matrix, Matrix, Matrix]:
    height, width = len(factors), len(factors[0])
    rank = min(height, width)
    rows = _identity(height)
    for at, pivot in enumerate(pivots):
        rows[at], rows[pivot] = rows[pivot], rows[at]
    lower = [[factors[row][at] if at < row else float(row == at) for at in range(rank)] for row in range(height)]
    upper = [[factors[row][at] if at >= row else 0.0 for at in range(width)] for row in range(rank)]
    return _transposed(rows), lower, upper


@operator("linalg_lu")
def lu(A: Value, pivot: Value = True) -> Value:  # noqa: N803
    """The permutation and the two factors."""
    factors, pivots, _ = lu_factor(A, pivot)
    return lu_unpack(factors, pivots)


@helper("linalg_solve_triangular")
def solve_triangular(
    self: Value,
    B: Value,  # noqa: N803
    upper: Value,
    left: Value = True,
    unitriangular: Value = False,
) -> Value:
    """The solution with a triangle of a matrix."""
    if not left:
        turned = solve_triangular(matrix_transposed(self), matrix_transposed(B), not upper, True, unitriangular)
        return matrix_transposed(turned)
    return _solve(lambda matrix, right: (_triangular_solution(matrix, right, upper, unitriangular),), self, B)


@operator("linalg_pinv")
def pseudo_inverse(self: Value, _atol: Value = None, _rtol: Value = None, hermitian: Value = False) -> Value:
    """The pseudoinverse of a matrix of full rank."""
    if hermitian:
        raise UnknownValueError
    rows, columns = tensor_of(self).sizes[-2:]
    adjoint = matrix_transposed(self)
    if rows >= columns:
        return solve(matmul(adjoint, self), adjoint)
    return solve(matmul(self, adjoint), adjoint, False)


# ---- factorizations


@operator("linalg_cholesky_ex")
def cholesky(self: Value, upper: Value = False, _check_errors: Value = False) -> Value:
    """The factor of the symmetric part: PyTorch's formulas suppose that the matrix is symmetric."""
    (factor,) = _mapped(_cholesky, self)
    return matrix_transposed(factor) if upper else factor, _no_errors(self)


def _cholesky(matrix: Matrix) -> tuple[Matrix]:
    size = len(matrix)
    factor = [[0.0] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            rest = (matrix[row][column] + matrix[column][row]) / 2
            rest -= sum(map(mul, factor[row][:column], factor[column][:column]))
            factor[row][column] = math.sqrt(rest) if row == column else rest / factor[column][column]
    return (factor,)


@operator("linalg_qr")
def qr(A: Value, mode: Value = "reduced") -> Value:  # noqa: N803
    """Orthonormal columns and a triangle, with the signs of LAPACK."""
    rows, columns = tensor_of(A).sizes[-2:]
    if mode == "r" or (mode == "complete" and rows > columns):
        raise UnknownValueError
    return _mapped(_qr, A)


def _qr(matrix: Matrix) -> tuple[Matrix, Matrix]:
    height = len(matrix)
    triangle = [list(row) for row in matrix]
    rows = _identity(height)
    for at in range(min(height - 1, len(matrix[0]))):
        column = [0.0] * at + [row[at] for row in triangle[at:]]
        column[at] += math.copysign(math.hypot(*column), column[at])
        scale = 2 / sum(map(mul, column, column))
        triangle, rows = (_reflection(scale, column, rows_of_matrix) for rows_of_matrix in (triangle, rows))
    rank = min(height, len(matrix[0]))
    return _transposed(rows[:rank]), triangle[:rank]


def _reflection(scale: float, vector: Sequence[float], matrix: Matrix) -> Matrix:
    """A matrix, reflected by ``I - scale * vector * vector^T``."""
    along = [scale * sum(map(mul, vector, column)) for column in _transposed(matrix)]
    return [
        [item - part * by for item, by in zip(row, along, strict=True)]
        for row, part in zip(matrix, vector, strict=True)
    ]


@operator("_linalg_svd")
def svd(
    A: Value,  # noqa: N803
    full_matrices: Value = False,
    compute_uv: Value = True,
    _driver: Value = None,
) -> Value:
    """Left vectors, descending singular values, and right vectors as rows."""
    rows, columns = tensor_of(A).sizes[-2:]
    if not compute_uv or (full_matrices and rows != columns):
        raise UnknownValueError
    if rows < columns:
        columns_of_transpose, values, rows_of_transpose = svd(matrix_transposed(A))
        return matrix_transposed(rows_of_transpose), values, matrix_transposed(columns_of_transpose)
    left_vectors, lengths, right_vectors = _mapped(_svd, A)
    return left_vectors, SmallTensor(Sizes(lengths.sizes[:-1]), lengths.items), right_vectors


def _svd(matrix: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The one-sided method of Jacobi: rotate pairs of columns until all are orthogonal."""
    size = len(matrix[0])
    columns, turns = _transposed(matrix), _identity(size)
    for _ in range(_SWEEPS):
        is_done = True
        for one in range(size):
            for two in range(one + 1, size):
                overlap = sum(map(mul, columns[one], columns[two]))
                first, second = (sum(map(mul, columns[at], columns[at])) for at in (one, two))
                if abs(overlap) <= 1e-15 * math.sqrt(first * second):
                    continue
                is_done = False
                ratio = (second - first) / (2 * overlap)
                tangent = math.copysign(1, ratio) / (abs(ratio) + math.hypot(1, ratio))
                cosine = 1 / math.hypot(1, tangent)
                for vectors in (columns, turns):
                    pairs = list(zip(vectors[one], vectors[two], strict=True))
                    vectors[one] = [cosine * (a - tangent * b) for a, b in pairs]
                    vectors[two] = [cosine * (tangent * a + b) for a, b in pairs]
        if is_done:
            break
    lengths = [math.hypot(*column) for column in columns]
    order = sorted(range(size), key=lengths.__getitem__, reverse=True)
    left_vectors = _transposed([[item / lengths[at] for item in columns[at]] for at in order])
    return left_vectors, [[lengths[at]] for at in order], [turns[at] for at in order]


@helper("_linalg_det")
def determinant(A: Value) -> Value:  # noqa: N803
    """The determinant, and the factors and pivots of the transpose, which PyTorch computes for contiguous matrices."""
    factors, pivots, _ = lu_factor(matrix_transposed(A))
    values = []
    for matrix, exchanges in zip(_matrices(factors), _rows_of_pivots(pivots), strict=True):
        sign = math.prod(-1 if pivot != at else 1 for at, pivot in enumerate(exchanges))
        values.append(sign * math.prod(row[at] for at, row in enumerate(matrix)))
    return SmallTensor(Sizes(tensor_of(A).sizes[:-2]), values), factors, pivots


# ---- series and products


@operator("linalg_matrix_exp")
def exponential(self: Value) -> Value:
    """The sum of the powers, divided by factorials."""
    return _mapped(lambda matrix: (_exponential(matrix),), self)[0]


def _exponential(matrix: Matrix) -> Matrix:
    if max(abs(item) for row in matrix for item in row) > _LARGEST_EXPONENT:
        raise UnknownValueError
    total = term = _identity(len(matrix))
    for at in range(1, _TERMS):
        term = [[item / at for item in row] for row in _product(term, matrix)]
        total = [[a + b for a, b in zip(one, two, strict=True)] for one, two in zip(total, term, strict=True)]
    return total


@operator("linalg_householder_product")
def householder_product(input: Value, tau: Value) -> Value:
    """The first columns of a product of reflections, whose vectors are below the diagonal."""
    factors = tensor_of(tau)
    (result,) = _mapped(_reflected, input, SmallTensor(Sizes((*factors.sizes, 1)), factors.items))
    return result


def _reflected(vectors: Matrix, factors: Matrix) -> tuple[Matrix]:
    height, width = len(vectors), len(vectors[0])
    result = [[float(row == column) for column in range(width)] for row in range(height)]
    for at in reversed(range(len(factors))):
        vector = [0.0] * at + [1.0] + [vectors[row][at] for row in range(at + 1, height)]
        result = _reflection(factors[at][0], vector, result)
    return (result,)


def _gradients(function: Callable[..., Value], values: Sequence[Value], grad: Value) -> tuple[SmallTensor, ...]:
    """The gradients of all arguments by central differences."""
    if sum(len(value.items) for value in values) > _MOST_VARIED:
        raise SizesError
    gradients = []
    for at, value in enumerate(values):
        items = list(value.items)
        slopes = []
        for place, item in enumerate(items):
            ends = []
            for moved in (item + _STEP, item - _STEP):
                changed = SmallTensor(value.sizes, [*items[:place], moved, *items[place + 1 :]])
                result = tensor_of(function(*values[:at], changed, *values[at + 1 :]))
                ends.append(sum(map(mul, grad.items, result.items)))
            slopes.append((ends[0] - ends[1]) / (2 * _STEP))
        gradients.append(SmallTensor(value.sizes, slopes))
    return tuple(gradients)


def _tangent(function: Callable[..., Value], values: Sequence[Value], tangents: Sequence[Value]) -> SmallTensor:
    above, below = (
        function(
            *[
                SmallTensor(value.sizes, [a + step * b for a, b in zip(value.items, move.items, strict=True)])
                for value, move in zip(values, tangents, strict=True)
            ]
        )
        for step in (_STEP, -_STEP)
    )
    slopes = [(high - low) / (2 * _STEP) for high, low in zip(above.items, below.items, strict=True)]
    return SmallTensor(above.sizes, slopes)


def _exponential_differential(matrix: Value, direction: Value, adjoint: Value) -> Value:
    return _tangent(exponential, [matrix_transposed(matrix) if adjoint else matrix], [direction])


helpers(
    {
        "linalg_matrix_exp_differential": _exponential_differential,
        "householder_product_backward": lambda grad, _result, input, tau, _flip=False: _gradients(
            householder_product, (tensor_of(input), tensor_of(tau)), tensor_of(grad)
        ),
        "householder_product_jvp": lambda tangent, tau_tangent, _prod, input, tau: _tangent(
            householder_product, (input, tau), (tangent, tau_tangent)
        ),
    }
)
