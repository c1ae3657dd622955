"""Products of matrices with one element, linear layers, and convolutions with a kernel of one element."""

from __future__ import annotations

from derivlint.meaning.one_element.table import helper, operator
from derivlint.meaning.one_element.values import UnknownValueError, Value, conj, real_only

# ---- products


@helper()
def mm_mat1_backward(grad: Value, mat2: Value, _sizes: Value, _strides: Value, _layout: Value, alpha: Value) -> Value:
    """The gradient of the left factor."""
    return grad * conj(alpha * mat2)


@helper()
def mm_mat2_backward(grad: Value, mat1: Value, _sizes: Value, _strides: Value, _layout: Value, alpha: Value) -> Value:
    """The gradient of the right factor."""
    return grad * conj(alpha * mat1)


@helper()
def matmul_backward(grad: Value, self: Value, other: Value, _mask: Value) -> Value:
    """The gradients of both factors."""
    return grad * conj(other), grad * conj(self)


@helper()
def sparse_sparse_matmul_backward(grad: Value, mat1: Value, mat2: Value, grad_order: Value) -> Value:
    """The gradient of one factor."""
    if grad_order not in (0, 1):
        raise UnknownValueError
    return grad * conj(mat1 if grad_order else mat2)


@operator("_trilinear")
def trilinear(i1: Value, i2: Value, i3: Value) -> Value:
    """The product of three numbers."""
    return i1 * i2 * i3


@helper("_trilinear_backward")
def trilinear_backward(grad: Value, i1: Value, i2: Value, i3: Value) -> Value:
    """The gradients of the three factors."""
    return grad * i2 * i3, grad * i1 * i3, grad * i1 * i2


# ---- linear layers


def _plus(value: Value, bias: Value) -> Value:
    return value if bias is None else value + bias


@operator()
def linear(input: Value, weight: Value, bias: Value = None) -> Value:
    """A product and a bias."""
    return _plus(input * weight, bias)


@operator("convolution", "convolution_overrideable", "_convolution")
def convolution(input: Value, weight: Value, bias: Value = None) -> Value:
    """A product and a bias."""
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
)
def backend_convolution(self: Value, weight: Value, bias: Value = None) -> Value:
    """A product and a bias."""
    return _plus(real_only(self) * real_only(weight), bias)


@helper("linear_backward", "mps_convolution_backward")
def linear_backward(self: Value, grad: Value, weight: Value) -> Value:
    """The gradients of input, weight and bias."""
    return real_only(grad) * real_only(weight), grad * self, grad


@helper("convolution_backward", "convolution_backward_overrideable", "_slow_conv2d_backward")
def convolution_backward(grad: Value, input: Value, weight: Value) -> Value:
    """The gradients of input, weight and bias."""
    return real_only(grad) * real_only(weight), grad * input, grad


@helper()
def _convolution_double_backward(
    grad_input: Value, grad_weight: Value, grad_bias: Value, grad: Value, weight: Value, input: Value
) -> Value:
    return grad_input * weight + grad_weight * input + grad_bias, grad_weight * grad, grad_input * grad


@helper()
def linear_double_backward(grads: Value, self: Value, grad_output: Value, weight: Value) -> Value:
    """The gradients of the input, of the gradient of the output and of the weight."""
    first, second, third = grads
    return second * grad_output, first * weight + second * self + third, first * grad_output


@helper("convolution_jvp", "_convolution_jvp")
def convolution_jvp(
    input_p: Value, input_t: Value, weight_p: Value, weight_t: Value, _bias_p: Value, bias_t: Value
) -> Value:
    """The tangent of a product and a bias."""
    return _plus(input_t * weight_p + input_p * weight_t, bias_t)


@helper()
def convolution_backward_jvp_grad_bias(grad_out_t: Value, _grad_bias: Value) -> Value:
    """The gradient of the bias is that of the output."""
    return grad_out_t
