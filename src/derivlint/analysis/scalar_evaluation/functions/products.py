"""Products of 1x1 matrices, linear layers, and convolutions with a one-element kernel."""

from __future__ import annotations

from derivlint.analysis.scalar_evaluation.functions.table import helper, helpers, operator, operators
from derivlint.analysis.scalar_evaluation.values import UnknownValueError, Value, conj, real_only

# ---- products


@helper()
def sparse_sparse_matmul_backward(grad: Value, mat1: Value, mat2: Value, grad_order: Value) -> Value:
    """The gradient of one factor."""
    if grad_order not in (0, 1):
        raise UnknownValueError
    return grad * conj(mat1 if grad_order else mat2)


# ---- linear layers


@operator()
def convolution(
    input: Value,
    weight: Value,
    bias: Value = None,
    _stride: Value = None,
    _padding: Value = None,
    _dilation: Value = None,
    _transposed: Value = None,
    _output_padding: Value = None,
    _groups: Value = None,
) -> Value:
    """The product plus the bias."""
    product = real_only(input) * real_only(weight)
    return product if bias is None else product + bias


@helper()
def convolution_backward(grad: Value, input: Value, weight: Value) -> Value:
    """The gradients of input, weight and bias."""
    return real_only(grad) * real_only(weight), grad * input, grad


operators(
    {
        # a product, since the sum, mean and extrema of one number are that number
        "_sparse_mm_reduce_impl": lambda self, other, _reduce=None: (real_only(self) * real_only(other), 0),
    }
)


helpers(
    {
        "_grouped_mm": lambda self, factor, _offs=None, _bias=None, _out_dtype=None: (
            real_only(self) * real_only(factor)
        ),
        # the gradients of both factors
        "_sparse_mm_reduce_impl_backward": lambda self, grad, weight: (grad * weight, grad * self),
    }
)
