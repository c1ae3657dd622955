"""Normalization and dropout: what is left of them with one element."""

from __future__ import annotations

import math

from derivlint.meaning.one_element.table import helper, operator
from derivlint.meaning.one_element.values import UnknownValueError, Value, real_only

# ---- normalization with known statistics


def _normalized(input: float, mean: Value, variance: Value, eps: float) -> tuple[float, float]:
    scale = 1 / math.sqrt(variance + eps)
    return (real_only(input) - mean) * scale, scale


@operator("native_batch_norm", "cudnn_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training")
def batch_norm(
    input: Value,
    weight: Value,
    bias: Value,
    running_mean: Value,
    running_var: Value,
    eps: Value,
    training: Value = False,
    _momentum: Value = None,
) -> Value:
    """Normalization with running statistics; with one element those of the batch tell nothing."""
    if training:
        raise UnknownValueError
    return (_normalized(input, running_mean, running_var, eps)[0] * weight + bias,)


@helper("native_batch_norm_backward")
def batch_norm_backward(
    grad: Value,
    input: Value,
    weight: Value,
    running_mean: Value,
    running_var: Value,
    _mean: Value,
    _scale: Value,
    training: Value,
    eps: Value,
) -> Value:
    """The gradients of input, weight and bias."""
    if training:
        raise UnknownValueError
    normalized, scale = _normalized(input, running_mean, running_var, eps)
    return grad * weight * scale, grad * normalized, grad


@helper()
def batch_norm_jvp(
    input_p: Value,
    input_t: Value,
    weight_p: Value,
    weight_t: Value,
    _bias_p: Value,
    bias_t: Value,
    running_mean: Value,
    running_var: Value,
    _mean: Value,
    _scale: Value,
    training: Value,
    eps: Value,
) -> Value:
    """The tangent of a normalized number."""
    if training:
        raise UnknownValueError
    normalized, scale = _normalized(input_p, running_mean, running_var, eps)
    return input_t * weight_p * scale + normalized * weight_t + bias_t


# ---- of one element, softmax is 1


@operator("_softmax", "_safe_softmax", "_sparse_softmax")
def softmax(self: Value, _dim: Value = None, half_to_float: Value = False) -> Value:
    """All of the probability."""
    return 1.0 + 0.0 * real_only(self)


@operator("_log_softmax", "_sparse_log_softmax")
def log_softmax(self: Value, _dim: Value = None, half_to_float: Value = False) -> Value:
    """The logarithm of all of the probability."""
    return 0.0 * real_only(self)


@helper()
def _softmax_backward_data(grad: Value, output: Value) -> Value:
    return output * (grad - grad * output)


@helper()
def _log_softmax_backward_data(grad: Value, output: Value) -> Value:
    return grad - math.exp(real_only(output)) * grad


@helper()
def softmax_double_backward(grad: Value, grad_output: Value, _dim: Value, output: Value) -> Value:
    """The derivative of _softmax_backward_data for the output."""
    return grad * grad_output * (1 - 2 * output)


# ---- dropout


@operator()
def native_dropout(input: Value, p: Value, train: Value) -> Value:
    """An element that is kept, and that it is kept."""
    return (input / (1 - p) if train is None or train else input), True
