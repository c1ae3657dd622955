"""Derivatives of convolutions and of conversions to sparse layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from derivlint.functional.tensors import added


def convolution_jvp(
    input_p: Tensor,
    input_t: Tensor,
    weight_p: Tensor,
    weight_t: Tensor,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor | None:
    """The tangent of ``convolution``."""
    shape = (stride, padding, dilation, transposed, output_padding, groups)
    convolution = torch.ops.aten.convolution.default
    return added(convolution(input_t, weight_p, None, *shape), convolution(input_p, weight_t, bias_t, *shape))


def _convolution_jvp(
    input_p: Tensor,
    input_t: Tensor,
    weight_p: Tensor,
    weight_t: Tensor,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    benchmark: bool,
    deterministic: bool,
    cudnn_enabled: bool,
    allow_tf32: bool,
) -> Tensor | None:
    """The tangent of ``_convolution``."""
    shape = (stride, padding, dilation, transposed, output_padding, groups)
    how = (benchmark, deterministic, cudnn_enabled, allow_tf32)
    convolution = torch.ops.aten._convolution.default
    return added(
        convolution(input_t, weight_p, None, *shape, *how), convolution(input_p, weight_t, bias_t, *shape, *how)
    )


def convolution_backward_jvp_grad_bias(grad_out_t: Tensor, grad_bias: Tensor | None) -> Tensor | None:
    """The tangent of the gradient of a convolution's bias."""
    if grad_bias is None:
        return None
    return grad_out_t.sum([dim for dim in range(grad_out_t.dim()) if dim != 1])


def _cudnn_convolution_backward(
    self: Tensor,
    grad_output: Tensor | None,
    weight: Tensor,
    padding: Sequence[int],
    output_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the convolutions of cuDNN, which have no bias."""
    if grad_output is None:
        return None, None
    backward = torch.ops.aten.convolution_backward.default
    shape = (stride, padding, dilation, transposed, output_padding, groups)
    first, second, _ = backward(grad_output, self, weight, None, *shape, [*output_mask, False])
    return first, second


def to_sparse_backward(grad: Tensor, self_layout: torch.layout, self_blocksize: Any) -> Tensor:
    """The gradient of ``to_sparse``: in the layout of the input."""
    if self_layout == torch.strided:
        return grad.to_dense()
    if grad.layout == self_layout:
        return grad
    return grad.to_sparse(layout=self_layout, blocksize=self_blocksize)
