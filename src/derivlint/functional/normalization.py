"""Derivatives of normalizations: batches, layers and groups."""

# ruff: noqa: N803 - names of matrices as in formulas

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

Triple = tuple[Tensor | None, Tensor | None, Tensor | None]


def _by_channel(input: Tensor, values: Tensor | None) -> Tensor | None:
    """A value for each channel, in the shape that it has beside the input."""
    return None if values is None else values.reshape([1, -1, *[1] * (input.dim() - 2)])


def _statistics(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    saved_mean: Tensor | None,
    saved_invstd: Tensor | None,
    train: bool,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Mean and inverse deviation of a batch normalization: of the batch while it trains, else the running ones."""
    if train:
        mean, invstd = saved_mean, saved_invstd
    else:
        assert running_var is not None
        mean, invstd = running_mean, (running_var + eps).rsqrt()
    mean, invstd = _by_channel(input, mean), _by_channel(input, invstd)
    assert mean is not None
    assert invstd is not None
    return mean, invstd


def _double_backward(
    input: Tensor,
    weight: Tensor | None,
    ggI: Tensor | None,
    ggG: Tensor | None,
    ggB: Tensor | None,
    gO: Tensor,
    mean: Tensor,
    invstd: Tensor,
    dims: Sequence[int],
    outer: Sequence[int],
    count: int,
    moves: bool,
) -> Triple:
    """The gradients of the gradients of ``weight * (input - mean) * invstd + bias``.

    Args:
        input: the input.
        weight: the weight, in a shape that can be broadcast.
        ggI: what comes in for the gradient of the input.
        ggG: for that of the weight.
        ggB: for that of the bias.
        gO: the incoming gradient of the forward operator.
        mean: the mean.
        invstd: the reciprocal standard deviation.
        dims: what mean and deviation are taken over.
        outer: what the gradients of weight and bias are summed over.
        count: the number of elements in ``dims``.
        moves: whether mean and deviation depend on the input.
    """
    dims, outer = list(dims), list(outer)

    def summed(value: Tensor) -> Tensor:
        return value.sum(dims, True) if dims else value

    xhat = (input - mean) * invstd
    scaled = gO if weight is None else gO * weight
    into_input = into_weight = into_output = None

    def project(value: Tensor) -> Tensor:
        """Apply the (symmetric) derivative of the normalization at the input."""
        if not moves:
            return value * invstd
        return invstd * (value - summed(value) / count - xhat * summed(value * xhat) / count)

    if ggI is not None:
        projected = project(ggI)
        into_output = projected if weight is None else projected * weight
        into_weight = (gO * projected).sum(outer, True) if outer else gO * projected
        if moves:
            # the derivative of <ggI, project(scaled)> for the input, where xhat and invstd move
            a, b = ggI, scaled
            ab = summed(a * b) - summed(a) * summed(b) / count
            ax, bx = summed(a * xhat), summed(b * xhat)
            along_xhat = -(a * bx + b * ax) / count
            value = ab - ax * bx / count
            into_input = project(along_xhat * invstd) - invstd.square() * xhat * value / count
    if ggG is not None:
        term = xhat * ggG
        into_output = term if into_output is None else into_output + term
        flow = project(gO * ggG)
        into_input = flow if into_input is None else into_input + flow
    if ggB is not None:
        term = ggB.expand(input.shape) if ggB.dim() == input.dim() else ggB
        into_output = term + torch.zeros_like(input) if into_output is None else into_output + term
    return into_input, into_weight, into_output


def batchnorm_double_backward(
    input: Tensor,
    gamma: Tensor | None,
    ggI: Tensor | None,
    ggG: Tensor | None,
    ggB: Tensor | None,
    gO: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    eps: float,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    output_mask: Sequence[bool],
) -> Triple:
    """The gradients of the backward of a batch normalization: for input, weight and incoming gradient."""
    dims = [dim for dim in range(input.dim()) if dim != 1]
    mean, invstd = _statistics(input, running_mean, running_var, save_mean, save_invstd, training, eps)
    count = input.numel() // input.size(1)
    weight, by_weight, by_bias = (_by_channel(input, each) for each in (gamma, ggG, ggB))
    into_input, into_weight, into_output = _double_backward(
        input, weight, ggI, by_weight, by_bias, gO, mean, invstd, dims, dims, count, training
    )
    if into_weight is not None and gamma is not None:
        into_weight = into_weight.reshape(gamma.shape)
    return _masked((into_input, into_weight if gamma is not None else None, into_output), output_mask)


def layer_norm_double_backward(
    input: Tensor,
    gamma: Tensor | None,
    ggI: Tensor | None,
    ggG: Tensor | None,
    ggB: Tensor | None,
    gO: Tensor | None,
    save_mean: Tensor,
    save_invstd: Tensor,
    normalized_shape: Sequence[int],
    output_mask: Sequence[bool],
) -> Triple:
    """The gradients of the backward of a layer normalization: for input, weight and incoming gradient."""
    if gO is None:
        return None, None, None
    dims = list(range(-len(normalized_shape), 0))
    outer = list(range(input.dim() - len(normalized_shape)))
    into_input, into_weight, into_output = _double_backward(
        input, gamma, ggI, ggG, ggB, gO, save_mean, save_invstd, dims, outer, math.prod(normalized_shape), True
    )
    if into_weight is not None and gamma is not None:
        into_weight = into_weight.reshape(gamma.shape)
    return _masked((into_input, into_weight if gamma is not None else None, into_output), output_mask)


def _masked(values: Triple, mask: Sequence[bool]) -> Triple:
    first, second, third = (value if wanted else None for value, wanted in zip(values, mask, strict=True))
    return first, second, third
