"""Convolutions of small images: sums of products of elements of the input and of the kernel.

A transposed convolution is the adjoint of a convolution: inputs and outputs of each product are exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from derivlint.analysis.small_tensors.reduce_ops import by_channel
from derivlint.analysis.small_tensors.tensor import (
    SmallTensor,
    Value,
    broadcast_map,
    count_of,
    helper,
    operator,
    tensor_of,
)
from derivlint.operators.shapes import window_sizes
from derivlint.operators.shapes.size_values import Sizes, SizesError, numbers_of

#: The linear indices of an output, an input and an element of the kernel whose product the output has.
Term = tuple[int, int, int]
#: The maximum number of terms; a formula can request any sizes.
_MOST_TERMS = 50_000
#: Stride, padding, dilation, transposed, output padding, groups.
Layout = tuple[Value, ...]


@lru_cache(256)
def _terms(sizes: tuple[int, ...], kernel: tuple[int, ...], layout: Layout) -> tuple[tuple[int, ...], tuple[Term, ...]]:
    """The sizes of the outputs, and the products."""
    stride, padding, dilation, transposed, _, groups = layout
    outputs = tuple(window_sizes.convolved(Sizes(sizes), Sizes(kernel), *layout))
    # a term for each pair of an output and an element of a kernel
    if count_of(outputs) * math.prod(kernel[1:]) > _MOST_TERMS:
        raise SizesError
    count = len(kernel) - 2
    if transposed:
        _, exchanged = _terms(outputs, kernel, (stride, padding, dilation, False, 0, groups))
        return outputs, tuple((source, output, at) for output, source, at in exchanged)
    steps, pads, gaps = (numbers_of(item, count) for item in (stride, padding, dilation))
    channels, per_group = kernel[1], kernel[0] // groups
    terms: list[Term] = []
    axes = (range(math.prod(sizes[: -count - 1])), range(kernel[0]), _indices(outputs[-count:]))
    for batch, output, place, channel, offset in product(*axes, range(channels), _indices(kernel[2:])):
        position = [
            at * step - pad + gap * shift
            for at, step, pad, gap, shift in zip(place, steps, pads, gaps, offset, strict=True)
        ]
        if all(0 <= at < size for at, size in zip(position, sizes[-count:], strict=True)):
            plane = batch * channels * groups + output // per_group * channels + channel
            terms.append(
                (
                    _linear((batch * kernel[0] + output, *place), outputs[-count:]),
                    _linear((plane, *position), sizes[-count:]),
                    _linear((output * channels + channel, *offset), kernel[2:]),
                )
            )
    return outputs, tuple(terms)


def _indices(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return product(*map(range, sizes))


def _linear(index: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    at = index[0]
    for place, size in zip(index[1:], sizes, strict=True):
        at = at * size + place
    return at


def _convolved(input: Value, weight: Value, layout: Layout) -> tuple[SmallTensor, SmallTensor, Sizes, tuple[Term, ...]]:
    image, kernel = tensor_of(input), tensor_of(weight)
    sizes, terms = _terms(tuple(image.sizes), tuple(kernel.sizes), layout)
    return image, kernel, Sizes(sizes), terms


@operator()
def convolution(
    input: Value,
    weight: Value,
    bias: Value,
    stride: Value,
    padding: Value,
    dilation: Value,
    transposed: Value,
    output_padding: Value,
    groups: Value,
) -> Value:
    """The convolution plus the bias of each channel."""
    layout = (stride, padding, dilation, transposed, output_padding, groups)
    image, kernel, sizes, terms = _convolved(input, weight, layout)
    items = [0.0] * math.prod(sizes)
    for output, source, at in terms:
        items[output] += image.items[source] * kernel.items[at]
    result = SmallTensor(sizes, items)
    return result if bias is None else broadcast_map(lambda one, two: one + two, result, by_channel(bias, result))


@helper()
def convolution_backward(
    grad_output: Value,
    input: Value,
    weight: Value,
    _bias_sizes: Value,
    stride: Value,
    padding: Value,
    dilation: Value,
    transposed: Value,
    output_padding: Value,
    groups: Value,
    output_mask: Value,
) -> Value:
    """The gradients of input, weight and bias, those that the mask asks for."""
    layout = (stride, padding, dilation, transposed, output_padding, groups)
    image, kernel, sizes, terms = _convolved(input, weight, layout)
    grad = tensor_of(grad_output)
    if grad.sizes != sizes:
        raise SizesError
    of_image, of_kernel = [0.0] * len(image.items), [0.0] * len(kernel.items)
    for output, source, at in terms:
        of_image[source] += grad.items[output] * kernel.items[at]
        of_kernel[at] += grad.items[output] * image.items[source]
    channel = len(sizes) - len(kernel.sizes) + 1
    inner = math.prod(sizes[channel + 1 :])
    of_bias = [0.0] * sizes[channel]
    for output, item in enumerate(grad.items):
        of_bias[output // inner % sizes[channel]] += item
    gradients = (
        SmallTensor(image.sizes, of_image),
        SmallTensor(kernel.sizes, of_kernel),
        SmallTensor(Sizes(sizes[channel : channel + 1]), of_bias),
    )
    return tuple(gradient if is_asked else None for gradient, is_asked in zip(gradients, output_mask, strict=True))
