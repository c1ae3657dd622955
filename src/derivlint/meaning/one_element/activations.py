"""Activation functions, their derivatives as ATen has them, and second derivatives."""

from __future__ import annotations

import math

from derivlint.meaning.one_element.table import helper, operator
from derivlint.meaning.one_element.values import UnknownValueError, Value, conj, real_only


def logistic(x: float) -> float:
    """The logistic function."""
    return 1 / (1 + math.exp(-x))


# ---- of the output


@helper()
def sigmoid_backward(grad: Value, output: Value) -> Value:
    """S' = s (1 - s)."""
    return grad * conj(output * (1 - output))


@helper()
def tanh_backward(grad: Value, output: Value) -> Value:
    """T' = 1 - t^2."""
    return grad * conj(1 - output * output)


# ---- with thresholds


@operator()
def relu(self: Value) -> Value:
    """The positive part."""
    return max(real_only(self), 0.0)


@operator()
def threshold(self: Value, threshold: Value, value: Value) -> Value:
    """A number above a threshold, otherwise a value."""
    return self if self > threshold else value


@helper()
def threshold_backward(grad: Value, self: Value, threshold: Value) -> Value:
    """The slope is 1 above the threshold."""
    return grad if real_only(self) > threshold else 0.0 * grad


@operator()
def hardtanh(self: Value, min_val: Value = -1, max_val: Value = 1) -> Value:
    """A number between two bounds."""
    return min(max(real_only(self), min_val), max_val)


@helper()
def hardtanh_backward(grad: Value, self: Value, min_val: Value, max_val: Value) -> Value:
    """The slope is 1 between the bounds."""
    return grad if min_val < self < max_val else 0.0 * grad


@operator("hardshrink")
def hardshrink(self: Value, lambd: Value = 0.5) -> Value:
    """A number far from 0."""
    return self if abs(real_only(self)) > lambd else 0.0


@operator("softshrink")
def softshrink(self: Value, lambd: Value = 0.5) -> Value:
    """A number brought nearer to 0."""
    return math.copysign(max(abs(real_only(self)) - lambd, 0.0), self)


@helper("hardshrink_backward", "softshrink_backward")
def shrink_backward(grad: Value, self: Value, lambd: Value) -> Value:
    """The slope is 1 far from 0."""
    return grad if abs(real_only(self)) > lambd else 0.0 * grad


@operator()
def hardsigmoid(self: Value) -> Value:
    """A piecewise linear sigmoid."""
    return min(max(real_only(self) + 3, 0.0), 6.0) / 6


@helper()
def hardsigmoid_backward(grad: Value, self: Value) -> Value:
    """The slope is 1/6 in the middle."""
    return grad / 6 if -3 < real_only(self) < 3 else 0.0 * grad


@operator()
def hardswish(self: Value) -> Value:
    """A number times its hard sigmoid."""
    return self * min(max(real_only(self) + 3, 0.0), 6.0) / 6


@helper()
def hardswish_backward(grad: Value, self: Value) -> Value:
    """The slope of hardswish."""
    x = real_only(self)
    return 0.0 * grad if x < -3 else grad if x > 3 else grad * (x / 3 + 0.5)


@operator()
def leaky_relu(self: Value, negative_slope: Value = 0.01) -> Value:
    """A number with another slope below 0."""
    return self if real_only(self) > 0 else self * negative_slope


@helper()
def leaky_relu_backward(grad: Value, self: Value, negative_slope: Value, _self_is_result: Value) -> Value:
    """The slope of leaky_relu."""
    return grad if real_only(self) > 0 else grad * negative_slope


@operator("rrelu_with_noise")
def rrelu_with_noise(
    self: Value, noise: Value, lower: Value = 0.125, upper: Value = 1 / 3, training: Value = False
) -> Value:
    """Without training a slope in the middle of both bounds below 0; with training it is random."""
    if training:
        raise UnknownValueError
    return self if real_only(self) > 0 else self * (lower + upper) / 2


@operator()
def rrelu_with_noise_functional(
    self: Value, noise: Value, lower: Value = 0.125, upper: Value = 1 / 3, training: Value = False
) -> Value:
    """The same, with the noise."""
    return rrelu_with_noise(self, noise, lower, upper, training), noise


@helper()
def rrelu_with_noise_backward(
    grad: Value, self: Value, noise: Value, lower: Value, upper: Value, training: Value, _self_is_result: Value
) -> Value:
    """With training the noise is the slope."""
    if training:
        return grad * noise
    return grad if real_only(self) > 0 else grad * (lower + upper) / 2


@operator("_prelu_kernel")
def prelu(self: Value, weight: Value) -> Value:
    """A number with a learned slope below 0."""
    return self if real_only(self) >= 0 else weight * self


@helper("_prelu_kernel_backward")
def prelu_backward(grad: Value, self: Value, weight: Value) -> Value:
    """The gradients of both arguments."""
    return (grad, 0.0 * grad) if real_only(self) >= 0 else (grad * weight, grad * self)


# ---- smooth ones


def _elu(x: float, negcoef: float, poscoef: float, negiptcoef: float) -> float:
    return poscoef * x if x > 0 else negcoef * math.expm1(negiptcoef * x)


@operator()
def elu(self: Value, alpha: Value = 1, scale: Value = 1, input_scale: Value = 1) -> Value:
    """Exponential below 0."""
    return _elu(real_only(self), alpha * scale, scale, input_scale)


@operator()
def celu(self: Value, alpha: Value = 1.0) -> Value:
    """Exponential below 0 with a continuous slope."""
    return _elu(real_only(self), alpha, 1.0, 1 / alpha)


@operator("selu")
def selu(self: Value) -> Value:
    """The self-normalizing one."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return _elu(real_only(self), alpha * scale, scale, 1.0)


@helper()
def elu_backward(
    grad: Value, alpha: Value, scale: Value, input_scale: Value, is_result: Value, self_or_result: Value
) -> Value:
    """The slope of elu, from the input or from the result."""
    x = real_only(self_or_result)
    if is_result:
        return grad * (scale if x > 0 else input_scale * (x + alpha * scale))
    return grad * (scale if x > 0 else input_scale * alpha * scale * math.exp(input_scale * x))


@helper()
def elu_double_backward(
    grad: Value, grad_output: Value, alpha: Value, scale: Value, input_scale: Value, is_result: Value, x: Value
) -> Value:
    """The derivative of elu_backward for its last argument."""
    if x > 0:
        return 0.0 * grad
    if is_result:
        return grad * grad_output * input_scale
    return grad * grad_output * input_scale**2 * alpha * scale * math.exp(input_scale * x)


@operator()
def silu(self: Value) -> Value:
    """A number times its logistic function."""
    return self * logistic(real_only(self))


@helper("silu_backward", "infinitely_differentiable_silu_backward")
def silu_backward(grad: Value, self: Value) -> Value:
    """The slope of silu."""
    s = logistic(real_only(self))
    return grad * s * (1 + self * (1 - s))


@operator()
def mish(self: Value) -> Value:
    """A number times the tangent of its softplus."""
    return self * math.tanh(math.log1p(math.exp(real_only(self))))


@helper("mish_backward", "infinitely_differentiable_mish_backward")
def mish_backward(grad: Value, self: Value) -> Value:
    """The slope of mish."""
    t = math.tanh(math.log1p(math.exp(real_only(self))))
    return grad * (t + self * (1 - t * t) * logistic(self))


_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _gelu(x: float, approximate: str) -> tuple[float, float, float]:
    """The function and its first two derivatives."""
    if approximate == "tanh":
        inner = _SQRT_2_OVER_PI * (x + _CUBIC * x**3)
        slope = _SQRT_2_OVER_PI * (1 + 3 * _CUBIC * x * x)
        bend = _SQRT_2_OVER_PI * 6 * _CUBIC * x
        t = math.tanh(inner)
        t1 = (1 - t * t) * slope
        t2 = (1 - t * t) * bend - 2 * t * t1 * slope
        return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * t1, t1 + 0.5 * x * t2
    cdf = 0.5 * math.erfc(-x / math.sqrt(2))
    pdf = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return x * cdf, cdf + x * pdf, pdf * (2 - x * x)


@operator()
def gelu(self: Value, approximate: Value = "none") -> Value:
    """A number times the normal distribution function."""
    return _gelu(real_only(self), approximate)[0]


@helper()
def gelu_backward(grad: Value, self: Value, approximate: Value = "none") -> Value:
    """The slope of gelu."""
    return grad * _gelu(real_only(self), approximate)[1]


@helper()
def gelu_double_backward(grad: Value, grad_output: Value, self: Value, approximate: Value) -> Value:
    """The derivative of gelu_backward for its input."""
    return grad * grad_output * _gelu(real_only(self), approximate)[2]


@operator("log_sigmoid_forward")
def log_sigmoid_forward(self: Value) -> Value:
    """The logarithm of the logistic function, and a buffer."""
    x = real_only(self)
    return -math.log1p(math.exp(-x)), math.exp(-abs(x))


@helper()
def log_sigmoid_backward(grad: Value, self: Value, _buffer: Value) -> Value:
    """The slope of the log-sigmoid; the buffer only saves work."""
    return grad * logistic(-real_only(self))


@helper()
def log_sigmoid_double_backward(grad: Value, self: Value) -> Value:
    """The derivative of log_sigmoid_backward for its input."""
    s = logistic(real_only(self))
    return -grad * s * (1 - s)


@operator()
def softplus(self: Value, beta: Value = 1, threshold: Value = 20) -> Value:
    """A smooth positive part, linear above the threshold."""
    return self if self * beta > threshold else math.log1p(math.exp(beta * self)) / beta


@helper()
def softplus_backward(grad: Value, self: Value, beta: Value, threshold: Value) -> Value:
    """The slope of softplus."""
    return grad if self * beta > threshold else grad * logistic(beta * self)


@helper()
def softplus_double_backward(grad: Value, self: Value, beta: Value, threshold: Value) -> Value:
    """The derivative of softplus_backward for its input."""
    s = logistic(beta * self)
    return 0.0 * grad if self * beta > threshold else grad * beta * s * (1 - s)
