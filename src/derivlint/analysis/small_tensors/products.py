"""Products of matrices and vectors."""

from __future__ import annotations

import math
from operator import mul

from derivlint.analysis.scalar_evaluation.values import conj
from derivlint.analysis.small_tensors.tensor import (
    SmallTensor,
    Value,
    broadcast_map,
    broadcast_to,
    count_of,
    helper,
    helpers,
    operator,
    reshaped,
    tensor_of,
)
from derivlint.analysis.small_tensors.view_ops import matrix_transposed
from derivlint.operators.shapes import size_functions as sizes_by
from derivlint.operators.shapes.size_values import Sizes


@helper("matmul")
def matmul(self: Value, other: Value) -> Value:
    """The product of matrices, vectors or batches."""
    rows, columns = tensor_of(self), tensor_of(other)
    result_sizes = sizes_by.matmul(rows.sizes, columns.sizes)
    count_of(result_sizes)
    rows = rows if len(rows.sizes) > 1 else reshaped(rows, Sizes((1, *rows.sizes)))
    columns = columns if len(columns.sizes) > 1 else reshaped(columns, Sizes((*columns.sizes, 1)))
    batch = sizes_by.broadcast(Sizes(rows.sizes[:-2]), Sizes(columns.sizes[:-2]))
    left = broadcast_to(rows, Sizes((*batch, *rows.sizes[-2:]))).items
    right = matrix_transposed(broadcast_to(columns, Sizes((*batch, *columns.sizes[-2:])))).items
    height, inner, width = rows.sizes[-2], rows.sizes[-1], columns.sizes[-1]
    items: list[Value] = []
    for at in range(math.prod(batch)):
        first, second = at * height * inner, at * inner * width
        lines = [left[first + row * inner : first + (row + 1) * inner] for row in range(height)]
        stripes = [right[second + column * inner : second + (column + 1) * inner] for column in range(width)]
        items += [sum(map(mul, line, stripe)) for line in lines for stripe in stripes]
    return SmallTensor(result_sizes, items)


@helper("mm", "_sparse_sparse_matmul")
def mm(self: Value, mat2: Value) -> Value:
    """The product of two matrices."""
    sizes_by.of_rank(tensor_of(self).sizes, 2), sizes_by.of_rank(tensor_of(mat2).sizes, 2)
    return matmul(self, mat2)


@helper("bmm", "_grouped_mm")
def bmm(self: Value, mat2: Value, _offs: Value = None) -> Value:
    """Products of two batches of matrices."""
    sizes_by.product(sizes_by.of_rank(tensor_of(self).sizes, 3), sizes_by.of_rank(tensor_of(mat2).sizes, 3))
    return matmul(self, mat2)


@helper("mv")
def mv(self: Value, vec: Value) -> Value:
    """A matrix times a vector."""
    sizes_by.of_rank(tensor_of(self).sizes, 2), sizes_by.of_rank(tensor_of(vec).sizes, 1)
    return matmul(self, vec)


@helper("dot")
def dot(self: Value, tensor: Value) -> Value:
    """The product of two vectors."""
    sizes_by.of_rank(tensor_of(self).sizes, 1), sizes_by.of_rank(tensor_of(tensor).sizes, 1)
    return matmul(self, tensor)


@helper("outer", "ger")
def outer(self: Value, vec2: Value) -> Value:
    """The outer product of two vectors."""
    (rows,), (columns,) = tensor_of(self).sizes, tensor_of(vec2).sizes
    return matmul(reshaped(self, Sizes((rows, 1))), reshaped(vec2, Sizes((1, columns))))


def _plus(own: Value, product: Value, beta: Value, alpha: Value) -> Value:
    sizes_by.expanding(tensor_of(own).sizes, product.sizes)
    return broadcast_map(lambda one, two: beta * one + alpha * two, own, product)


@helper("addbmm")
def addbmm(self: Value, batch1: Value, batch2: Value, beta: Value = 1, alpha: Value = 1) -> Value:
    """A tensor plus the sum of products of matrices."""
    product = bmm(batch1, batch2)
    count = math.prod(product.sizes[1:])
    total = [sum(product.items[at::count]) for at in range(count)]
    return _plus(self, SmallTensor(Sizes(product.sizes[1:]), total), beta, alpha)


@operator("linear")
def linear(input: Value, weight: Value, bias: Value = None) -> Value:
    """A linear layer."""
    product = matmul(input, matrix_transposed(weight))
    return product if bias is None else broadcast_map(lambda one, two: one + two, product, bias)


@helper()
def sparse_sparse_matmul_backward(grad: Value, mat1: Value, mat2: Value, grad_order: Value) -> Value:
    """The gradient of one of two matrices without zeros."""
    return mm(grad, matrix_transposed(mat2)) if grad_order == 0 else mm(matrix_transposed(mat1), grad)


helpers(
    {
        "vdot": lambda self, other: dot(broadcast_map(conj, self), other),
        "addmm _sparse_addmm": lambda self, mat1, mat2, beta=1, alpha=1: _plus(self, mm(mat1, mat2), beta, alpha),
        "baddbmm": lambda self, batch1, batch2, beta=1, alpha=1: _plus(self, bmm(batch1, batch2), beta, alpha),
        "addmv": lambda self, mat, vec, beta=1, alpha=1: _plus(self, mv(mat, vec), beta, alpha),
        "addr": lambda self, vec1, vec2, beta=1, alpha=1: _plus(self, outer(vec1, vec2), beta, alpha),
    }
)
