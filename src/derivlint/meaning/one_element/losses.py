"""Losses: with one element all reductions are the same."""

from __future__ import annotations

import math

from derivlint.meaning.one_element.activations import logistic
from derivlint.meaning.one_element.table import helper, operator
from derivlint.meaning.one_element.values import UnknownValueError, Value, real_only


def _weight(weight: Value) -> float:
    return 1.0 if weight is None else real_only(weight)


# ---- squares


@operator()
def mse_loss(self: Value, target: Value, reduction: Value = 1) -> Value:
    """The squared error."""
    return (self - target) ** 2


@helper()
def mse_loss_backward(grad: Value, self: Value, target: Value, _reduction: Value) -> Value:
    """The derivative for the first argument."""
    return 2 * grad * (real_only(self) - real_only(target))


@helper()
def mse_loss_double_backward(grad: Value, _input: Value, _reduction: Value) -> Value:
    """The second derivative for the first argument."""
    return 2 * grad


@operator()
def smooth_l1_loss(self: Value, target: Value, reduction: Value = 1, beta: Value = 1.0) -> Value:
    """Quadratic near 0, then linear."""
    z = abs(real_only(self) - real_only(target))
    return 0.5 * z * z / beta if z < beta else z - 0.5 * beta


@helper()
def smooth_l1_loss_backward(grad: Value, self: Value, target: Value, _reduction: Value, beta: Value) -> Value:
    """The derivative for the first argument."""
    z = real_only(self) - real_only(target)
    return grad * (z / beta if abs(z) < beta else math.copysign(1.0, z))


@helper()
def smooth_l1_loss_double_backward(grad: Value, self: Value, target: Value, _reduction: Value, beta: Value) -> Value:
    """The second derivative for the first argument."""
    return grad / beta if abs(real_only(self) - real_only(target)) < beta else 0.0 * grad


@operator()
def huber_loss(self: Value, target: Value, reduction: Value = 1, delta: Value = 1.0) -> Value:
    """Quadratic near 0, then linear with slope delta."""
    z = abs(real_only(self) - real_only(target))
    return 0.5 * z * z if z <= delta else delta * (z - 0.5 * delta)


@helper()
def huber_loss_backward(grad: Value, self: Value, target: Value, _reduction: Value, delta: Value) -> Value:
    """The derivative for the first argument."""
    z = real_only(self) - real_only(target)
    return grad * (z if abs(z) <= delta else math.copysign(delta, z))


@helper()
def huber_loss_double_backward(grad: Value, self: Value, target: Value, _reduction: Value, delta: Value) -> Value:
    """The second derivative for the first argument."""
    return grad if abs(real_only(self) - real_only(target)) < delta else 0.0 * grad


@helper()
def huber_loss_double_backward_grad_output(
    grad: Value, _grad_output: Value, self: Value, target: Value, reduction: Value, delta: Value
) -> Value:
    """The derivative of huber_loss_backward for its gradient."""
    return huber_loss_backward(grad, self, target, reduction, delta)


# ---- margins


@operator()
def soft_margin_loss(self: Value, target: Value, reduction: Value = 1) -> Value:
    """The logistic loss."""
    return math.log1p(math.exp(-target * self))


@helper()
def soft_margin_loss_backward(grad: Value, self: Value, target: Value, _reduction: Value) -> Value:
    """The derivative for the first argument."""
    return -grad * target * logistic(-target * self)


@helper()
def soft_margin_loss_double_backward(grad: Value, self: Value, target: Value, _reduction: Value) -> Value:
    """The second derivative for the first argument."""
    s = logistic(target * self)
    return grad * target * target * s * (1 - s)


@helper()
def soft_margin_loss_double_backward_grad_output(
    grad: Value, _grad_output: Value, self: Value, target: Value, reduction: Value
) -> Value:
    """The derivative of soft_margin_loss_backward for its gradient."""
    return soft_margin_loss_backward(grad, self, target, reduction)


# ---- cross entropies


@operator()
def binary_cross_entropy(self: Value, target: Value, weight: Value = None, reduction: Value = 1) -> Value:
    """The cross entropy of two probabilities."""
    return -_weight(weight) * (target * math.log(self) + (1 - target) * math.log1p(-self))


@helper()
def binary_cross_entropy_backward(
    grad: Value, self: Value, target: Value, weight: Value = None, _reduction: Value = 1
) -> Value:
    """The derivative for the first argument, a probability."""
    if not 0 < self < 1:
        raise UnknownValueError
    return grad * _weight(weight) * (self - target) / (self * (1 - self))


@helper()
def binary_cross_entropy_target_backward(
    grad: Value, self: Value, target: Value, weight: Value, _reduction: Value
) -> Value:
    """The derivative for the target."""
    return grad * _weight(weight) * (math.log1p(-self) - math.log(self))


@helper()
def binary_cross_entropy_double_backward(
    grad_output: Value, grad: Value, self: Value, target: Value, weight: Value, _reduction: Value
) -> Value:
    """The derivative of binary_cross_entropy_backward for the first argument."""
    bend = target / (self * self) + (1 - target) / (1 - self) ** 2
    return grad_output * grad * _weight(weight) * bend


@helper()
def binary_cross_entropy_double_backward_grad_output(
    grad: Value, self: Value, target: Value, weight: Value, _reduction: Value
) -> Value:
    """The derivative of binary_cross_entropy_backward for its gradient."""
    return binary_cross_entropy_backward(grad, self, target, weight)


@helper()
def binary_cross_entropy_double_backward_target(
    grad: Value, grad_output: Value, self: Value, target: Value, weight: Value, _reduction: Value
) -> Value:
    """The derivative of binary_cross_entropy_backward for the target."""
    return -grad * grad_output * _weight(weight) / (self * (1 - self))


@operator()
def binary_cross_entropy_with_logits(
    self: Value, target: Value, weight: Value = None, pos_weight: Value = None, reduction: Value = 1
) -> Value:
    """The cross entropy of a logit and a probability."""
    positive = _weight(pos_weight) * target * math.log1p(math.exp(-self))
    return _weight(weight) * (positive + (1 - target) * math.log1p(math.exp(self)))


@helper()
def binary_cross_entropy_with_logits_backward(
    grad: Value, self: Value, target: Value, weight: Value, pos_weight: Value, _reduction: Value
) -> Value:
    """The derivative for the logit."""
    slope = (1 - target) * logistic(self) - _weight(pos_weight) * target * logistic(-self)
    return grad * _weight(weight) * slope


@helper()
def binary_cross_entropy_with_logits_target_backward(
    grad: Value, self: Value, target: Value, weight: Value, pos_weight: Value, _reduction: Value
) -> Value:
    """The derivative for the target."""
    slope = _weight(pos_weight) * math.log1p(math.exp(-self)) - math.log1p(math.exp(self))
    return grad * _weight(weight) * slope
