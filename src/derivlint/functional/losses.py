"""Derivatives of losses."""

from __future__ import annotations

import torch
from torch import Tensor

NONE, MEAN, SUM = 0, 1, 2


def apply_loss_reduction(unreduced: Tensor, reduction: int) -> Tensor:
    """A loss of every element, reduced."""
    if reduction == MEAN:
        return unreduced.mean()
    return unreduced.sum() if reduction == SUM else unreduced


def _divided(value: Tensor, like: Tensor, reduction: int) -> Tensor:
    return value / like.numel() if reduction == MEAN else value


def _unreduced(value: Tensor, reduction: int) -> Tensor:
    """The gradient for a reduced incoming gradient."""
    return apply_loss_reduction(value, reduction)


def mse_loss_double_backward(grad: Tensor, input: Tensor, reduction: int) -> Tensor:
    """The gradient of ``mse_loss_backward`` for the input, without the incoming gradient."""
    return _divided(2 * grad, input, reduction)


def smooth_l1_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """The gradient of ``smooth_l1_loss_backward`` for the input, without the incoming gradient."""
    if beta == 0:
        return torch.zeros_like(grad)
    near = (input - target).abs() < beta
    return _divided(torch.where(near, grad / beta, 0.0), input, reduction)


def huber_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """The gradient of ``huber_loss_backward`` for the input, without the incoming gradient."""
    near = (input - target).abs() < delta
    return _divided(torch.where(near, grad, 0.0), input, reduction)


def huber_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float
) -> Tensor:
    """The gradient of ``huber_loss_backward`` for the incoming gradient."""
    aten = torch.ops.aten
    incoming = grad if reduction == NONE else torch.ones_like(grad_output)
    slope: Tensor = aten.huber_loss_backward.default(incoming, input, target, reduction, delta)
    return slope if reduction == NONE else (slope * grad).sum()


def soft_margin_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The second derivative of ``log(1 + exp(-t x))``, without the incoming gradient: ``t^2 s(t x) s(-t x)``."""
    margin = target * input
    return _divided(grad * target.square() * margin.sigmoid() * (-margin).sigmoid(), input, reduction)


def soft_margin_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, input: Tensor, target: Tensor, reduction: int
) -> Tensor:
    """The gradient of ``soft_margin_loss_backward`` for the incoming gradient."""
    slope = _divided(-target * (-target * input).sigmoid() * grad, input, reduction)
    return slope if reduction == NONE else slope.sum()


def binary_cross_entropy_target_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of ``binary_cross_entropy`` for the target."""
    value = grad * (torch.log(1.0 - self).clamp(min=-100) - torch.log(self).clamp(min=-100))
    return _divided(value if weight is None else value * weight, target, reduction)


def _weighted(value: Tensor, weight: Tensor | None) -> Tensor:
    return value if weight is None else value * weight


def _bernoulli_variance(probability: Tensor) -> Tensor:
    """``p (1 - p)``, which the gradient is divided by; never zero."""
    return (probability * (1 - probability)).clamp(min=1e-12)


def binary_cross_entropy_double_backward(
    grad_output: Tensor, grad: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of ``binary_cross_entropy_backward`` for the input: that of ``(p - t) / (p (1 - p))``."""
    variance = _bernoulli_variance(input)
    curve = (1 - (1 - 2 * input) * (input - target) / variance) / variance
    return _divided(_weighted(curve * grad * grad_output, weight), input, reduction)


def binary_cross_entropy_double_backward_grad_output(
    grad: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of ``binary_cross_entropy_backward`` for the incoming gradient, element by element.

    It is the tangent as well; a gradient is summed to the shape of what it is for.
    """
    slope = (input - target) / _bernoulli_variance(input)
    return _divided(_weighted(grad * slope, weight), input, reduction)


def binary_cross_entropy_double_backward_target(
    grad: Tensor, grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of ``binary_cross_entropy_backward`` for the target."""
    value = -grad * grad_output / _bernoulli_variance(self)
    return _divided(_weighted(value, weight), target, reduction)


def binary_cross_entropy_with_logits_backward(
    grad: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of ``-(w t log s(x) + (1 - t) log s(-x))``: ``(1 - t) s(x) - w t s(-x)``."""
    positive = target if pos_weight is None else pos_weight * target
    slope = (1 - target) * input.sigmoid() - positive * (-input).sigmoid()
    return _divided(_weighted(slope * grad, weight), input, reduction)


def binary_cross_entropy_with_logits_target_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of ``-(w t log s(x) + (1 - t) log s(-x))`` for ``t``; without ``w`` it is ``-x``."""
    if pos_weight is None:
        slope = -self
    else:
        logsigmoid = torch.nn.functional.logsigmoid
        slope = logsigmoid(-self) - pos_weight * logsigmoid(self)
    return _divided(_weighted(slope * grad_output, weight), target, reduction)


def _cudnn_ctc_loss_backward(grad_out: Tensor, loss: Tensor, raw_grad: Tensor, zero_infinity: bool) -> Tensor:
    """The gradient of the CTC loss of cuDNN."""
    shape = [1] * raw_grad.dim()
    if raw_grad.dim() > 1:
        shape[1] = -1
    value = raw_grad * grad_out.reshape(shape)
    return torch.where(loss.reshape(shape) == 0, 0.0, value) if zero_infinity else value


def _miopen_ctc_loss_backward(grad_out: Tensor, loss: Tensor, raw_grad: Tensor, zero_infinity: bool) -> Tensor:
    """The gradient of the CTC loss of MIOpen."""
    return _cudnn_ctc_loss_backward(grad_out, loss, raw_grad, zero_infinity)
