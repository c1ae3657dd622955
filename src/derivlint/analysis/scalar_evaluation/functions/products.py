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


def _plus(value: Value, bias: Value) -> Value:
    return value if bias is None else value + bias


@operator("convolution", "convolution_overrideable", "_convolution")
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
    _benchmark: Value = None,
    _deterministic: Value = None,
    _cudnn_enabled: Value = None,
    _allow_tf32: Value = None,
) -> Value:
    """The product plus the bias."""
    return _plus(real_only(input) * real_only(weight), bias)


@operator(
    "_slow_conv2d_forward",
    "slow_conv3d_forward",
    "slow_conv_transpose2d",
    "slow_conv_transpose3d",
    "_conv_depthwise2d",
    "conv_depthwise3d",
    "slow_conv_dilated2d",
    "slow_conv_dilated3d",
    "_mps_convolution",
    "cudnn_convolution",
    "cudnn_convolution_transpose",
    "miopen_convolution",
    "miopen_convolution_transpose",
    "miopen_depthwise_convolution",
    "mkldnn_convolution",
    "_mps_convolution_transpose",
    "conv_tbc",
)
def backend_convolution(self: Value, weight: Value, bias: Value = None) -> Value:
    """The product plus the bias."""
    return _plus(real_only(self) * real_only(weight), bias)


@helper("mps_convolution_transpose_backward")
def mps_convolution_transpose_backward(self: Value, grad: Value, weight: Value) -> Value:
    """The gradients of input, weight and bias."""
    return real_only(grad) * real_only(weight), grad * self, grad


@helper("convolution_backward", "conv_tbc_backward")
def convolution_backward(grad: Value, input: Value, weight: Value) -> Value:
    """The gradients of input, weight and bias."""
    return real_only(grad) * real_only(weight), grad * input, grad


@helper()
def _convolution_double_backward(
    grad_input: Value, grad_weight: Value, grad_bias: Value, grad: Value, weight: Value, input: Value
) -> Value:
    return grad_input * weight + grad_weight * input + grad_bias, grad_weight * grad, grad_input * grad


operators(
    {
        "_nnpack_spatial_convolution": lambda input, weight, bias=None: _plus(
            real_only(input) * real_only(weight), bias
        ),
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
