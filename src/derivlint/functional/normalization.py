"""Derivatives of normalizations: batches, layers and groups."""

# ruff: noqa: N803 - names of matrices as in formulas

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from derivlint.functional.tensors import added

Triple = tuple[Tensor | None, Tensor | None, Tensor | None]


def _normalized_jvp(
    input_p: Tensor, input_t: Tensor, mean: Tensor, invstd: Tensor, dims: Sequence[int], count: int
) -> Tensor:
    """The tangent of ``(input - mean) * invstd``."""
    centred = input_p - mean
    moved = input_t - input_t.mean(list(dims), True)
    change = -invstd.pow(3) * (moved * centred).sum(list(dims), True) / count
    return moved * invstd + centred * change


def _affine(
    value: Tensor, change: Tensor, weight_p: Tensor | None, weight_t: Tensor | None, bias_t: Tensor | None
) -> Tensor:
    out = change if weight_p is None else change * weight_p
    if weight_t is not None:
        out = out + value * weight_t
    return out if bias_t is None else out + bias_t


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


def batch_norm_jvp(
    input_p: Tensor,
    input_t: Tensor,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    saved_mean: Tensor,
    saved_invstd: Tensor,
    train: bool,
    eps: float,
) -> Tensor:
    """The tangent of a batch normalization."""
    mean, invstd = _statistics(input_p, running_mean, running_var, saved_mean, saved_invstd, train, eps)
    if train:
        dims = [dim for dim in range(input_p.dim()) if dim != 1]
        change = _normalized_jvp(input_p, input_t, mean, invstd, dims, input_p.numel() // input_p.size(1))
    else:
        change = input_t * invstd
    affine = (_by_channel(input_p, each) for each in (weight_p, weight_t, bias_t))
    return _affine((input_p - mean) * invstd, change, *affine)


def layer_norm_jvp(
    input_p: Tensor,
    input_t: Tensor,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    saved_mean: Tensor,
    saved_invstd: Tensor,
    normalized_shape: Sequence[int],
) -> Tensor:
    """The tangent of a layer normalization."""
    dims = list(range(-len(normalized_shape), 0))
    change = _normalized_jvp(input_p, input_t, saved_mean, saved_invstd, dims, math.prod(normalized_shape))
    return _affine((input_p - saved_mean) * saved_invstd, change, weight_p, weight_t, bias_t)


def rms_norm_jvp(
    input_p: Tensor,
    input_t: Tensor,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    saved_rstd: Tensor,
    normalized_shape: Sequence[int],
) -> Tensor:
    """The tangent of a normalization by the root mean square."""
    change = rms_norm_rstd_jvp(input_p, input_t, saved_rstd, normalized_shape)
    return _affine(input_p * saved_rstd, input_t * saved_rstd + input_p * change, weight_p, weight_t, None)


def rms_norm_rstd_jvp(input_p: Tensor, input_t: Tensor, saved_rstd: Tensor, normalized_shape: Sequence[int]) -> Tensor:
    """The tangent of the reciprocal root mean square."""
    dims = list(range(-len(normalized_shape), 0))
    return -saved_rstd.pow(3) * (input_p * input_t).mean(dims, True)


def infinitely_differentiable_native_rms_norm_backward(
    dY: Tensor | None,
    drstd: Tensor | None,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight_opt: Tensor | None,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of a normalization by the root mean square."""
    dims = list(range(-len(normalized_shape), 0))
    into_input = into_weight = None
    if grad_input_mask[0]:
        terms = []
        if dY is not None:
            scaled = dY if weight_opt is None else dY * weight_opt
            terms.append(scaled * rstd - input * rstd.pow(3) * (scaled * input).mean(dims, True))
        if drstd is not None:
            terms.append(-input * rstd.pow(3) * drstd / math.prod(normalized_shape))
        into_input = added(*terms)
    if grad_input_mask[1] and dY is not None:
        lead = list(range(input.dim() - len(normalized_shape)))
        product = dY * input * rstd
        into_weight = product.sum(lead) if lead else product
    return into_input, into_weight


def _groups(tensor: Tensor, groups: int) -> Tensor:
    return tensor.reshape(tensor.size(0), groups, -1)


def group_norm_jvp(
    input_p: Tensor,
    input_t: Tensor,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    saved_mean: Tensor,
    saved_invstd: Tensor,
    groups: int,
) -> Tensor:
    """The tangent of a group normalization."""
    x, dx = _groups(input_p, groups), _groups(input_t, groups)
    mean, invstd = saved_mean.reshape(-1, groups, 1), saved_invstd.reshape(-1, groups, 1)
    change = _normalized_jvp(x, dx, mean, invstd, [2], x.size(2)).reshape(input_p.shape)
    value = ((x - mean) * invstd).reshape(input_p.shape)
    shape = [1, -1, *[1] * (input_p.dim() - 2)]
    return _affine(value, change, *(None if t is None else t.reshape(shape) for t in (weight_p, weight_t, bias_t)))


def group_norm_mean_jvp(input_t: Tensor, mean_p: Tensor, groups: int) -> Tensor:
    """The tangent of the means of a group normalization."""
    return _groups(input_t, groups).mean(2).reshape(mean_p.shape)


def group_norm_invstd_jvp(input_p: Tensor, input_t: Tensor, mean_p: Tensor, invstd_p: Tensor, groups: int) -> Tensor:
    """The tangent of the reciprocal standard deviations of a group normalization."""
    x, dx = _groups(input_p, groups), _groups(input_t, groups)
    centred, moved = x - mean_p.reshape(-1, groups, 1), dx - dx.mean(2, True)
    return (-invstd_p.reshape(-1, groups).pow(3) * (moved * centred).mean(2)).reshape(invstd_p.shape)


def infinitely_differentiable_native_group_norm_backward(
    dY: Tensor | None,
    dmean: Tensor | None,
    drstd: Tensor | None,
    X: Tensor,
    mean: Tensor,
    rstd: Tensor,
    gamma: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
    grad_input_mask: Sequence[bool],
) -> Triple:
    """The gradients of a group normalization."""
    inner = (C // group) * HxW
    x = X.reshape(N, group, C // group, HxW)
    m, s = mean.reshape(N, group, 1, 1), rstd.reshape(N, group, 1, 1)
    centred = x - m
    into_input = into_gamma = into_beta = None
    dy = None if dY is None else dY.reshape(N, group, C // group, HxW)
    if grad_input_mask[0]:
        terms = []
        if dy is not None:
            scaled = dy if gamma is None else dy * gamma.reshape(1, group, C // group, 1)
            flow = s * (scaled - scaled.mean((2, 3), True))
            terms.append(flow - centred * s.pow(3) * (scaled * centred).sum((2, 3), True) / inner)
        if dmean is not None:
            terms.append((dmean.reshape(N, group, 1, 1) / inner).expand(x.shape))
        if drstd is not None:
            terms.append(-centred * s.pow(3) * drstd.reshape(N, group, 1, 1) / inner)
        total = added(*terms)
        into_input = None if total is None else total.reshape(X.shape)
    if dy is not None:
        if grad_input_mask[1]:
            into_gamma = (dy * centred * s).sum((0, 3)).reshape(C)
        if grad_input_mask[2]:
            into_beta = dy.sum((0, 3)).reshape(C)
    return into_input, into_gamma, into_beta


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
