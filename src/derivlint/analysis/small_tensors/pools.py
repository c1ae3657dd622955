"""Max pooling of small images: the largest elements of windows, and their indices in each plane."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

from derivlint.analysis.small_tensors.index_ops import gather, scatter_add
from derivlint.analysis.small_tensors.tensor import (
    TABLE,
    SmallTensor,
    Value,
    count_of,
    filled,
    helper,
    operator,
    reshaped,
    strides_of,
    tensor_of,
)
from derivlint.analysis.small_tensors.view_ops import flatten
from derivlint.analysis.small_tensors.windows import adaptive_windows
from derivlint.operators.shapes import window_sizes
from derivlint.operators.shapes.size_values import Sizes, SizesError, numbers_of

#: The positions of each window along a dimension.
Windows = Sequence[Sequence[int]]
#: The parameters of the adjoints.
_GRADIENT_PARAMETERS = (
    *("grad_output", "self", "indices", "_kernel_size", "_stride", "_padding", "_dilation", "_ceil_mode"),
    "_output_size",
)


def _largest(self: Value, count: int, windows_of: Callable[[int], Sequence[Windows]]) -> tuple[Value, Value]:
    """The largest element of each window and its index; the first one of several.

    Args:
        self: the image.
        count: the number of its dimensions without channels.
        windows_of: the windows along each of these dimensions, for a plane.
    """
    tensor = tensor_of(self)
    planes, plane = tensor.sizes[:-count], tensor.sizes[-count:]
    strides = strides_of(tuple(plane))
    size = math.prod(plane)
    values: list[Value] = []
    indices: list[int] = []
    windows: Sequence[Windows] = windows_of(0)
    for at in range(math.prod(planes)):
        windows = windows_of(at)
        items = tensor.items[at * size : (at + 1) * size]
        for window in product(*windows):
            positions = [sum(map(math.prod, zip(place, strides, strict=True))) for place in product(*window)]
            indices.append(max(positions, key=items.__getitem__))
            values.append(items[indices[-1]])
    sizes = Sizes((*planes, *map(len, windows)))
    return SmallTensor(sizes, values), SmallTensor(sizes, indices)


def _strided(
    sizes: Sequence[int], kernel: Value, stride: Value, padding: Value, dilation: Value, ceil: Value, count: int
) -> list[Windows]:
    outputs = window_sizes.pooled(Sizes(sizes), kernel, stride, padding, dilation, ceil, count)[-count:]
    count_of(outputs), count_of(numbers_of(kernel, count))
    lists = (numbers_of(item, count) for item in (kernel, stride or kernel, padding, dilation))
    return [
        [
            [at for at in range(start, start + gap * width, gap) if 0 <= at < size]
            for start in range(-pad, output * step - pad, step)
        ]
        for size, output, width, step, pad, gap in zip(sizes[-count:], outputs, *lists, strict=True)
    ]


def _add_pooling(count: int) -> None:
    """Register the operators of images with so many dimensions, and their adjoints."""

    def pooled(
        self: Value,
        kernel_size: Value,
        stride: Value = (),
        padding: Value = 0,
        dilation: Value = 1,
        ceil_mode: Value = False,
    ) -> Value:
        windows = _strided(tensor_of(self).sizes, kernel_size, stride, padding, dilation, ceil_mode, count)
        return _largest(self, count, lambda _: windows)

    def pooled_values(self: Value, *window: Value) -> Value:
        return pooled(self, *window)[0]

    def pooled_backward(grad_output: Value, self: Value, *window: Value) -> Value:
        return _sent(grad_output, self, pooled(self, *window)[1], count)

    def pooled_backward_of_output(grad_output: Value, _output: Value, self: Value, *window: Value) -> Value:
        return pooled_backward(grad_output, self, *window)

    def adapted(self: Value, output_size: Value) -> Value:
        windows = adaptive_windows(tensor_of(self).sizes[-count:], output_size)
        return _largest(self, count, lambda _: windows)

    def fractional(self: Value, kernel_size: Value, output_size: Value, random_samples: Value) -> Value:
        count_of(output_size), count_of(kernel_size)
        sizes, samples = tensor_of(self).sizes[-count:], tensor_of(random_samples)
        if not all(0 <= sample < 1 for sample in samples.items):
            raise SizesError

        def windows_of(plane: int) -> list[Windows]:
            drawn = samples.items[plane * count : (plane + 1) * count]
            # of two dimensions PyTorch reads the last one first
            axes = zip(sizes, kernel_size, output_size, drawn[::-1] if count == 2 else drawn, strict=True)
            return [_drawn_windows(*axis) for axis in axes]

        return _largest(self, count, windows_of)

    def backward(grad_output: Value, self: Value, indices: Value, *_: Value) -> Value:
        return _sent(grad_output, self, indices, count)

    TABLE.add((f"max_pool{count}d_with_indices",), pooled, by_position=False)
    window = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
    TABLE.add_with((f"max_pool{count}d", f"mkldnn_max_pool{count}d"), pooled_values, ("self", *window), 2)
    TABLE.add_with((f"max_pool{count}d_backward",), pooled_backward, ("grad_output", "self", *window), 7)
    parameters = ("grad_output", "_output", "input", *window)
    TABLE.add_with((f"mkldnn_max_pool{count}d_backward",), pooled_backward_of_output, parameters, 8)
    TABLE.add((f"adaptive_max_pool{count}d",), adapted, by_position=False)
    TABLE.add((f"fractional_max_pool{count}d",), fractional, by_position=False)
    names = ("max_pool{}d_with_indices_backward", "adaptive_max_pool{}d_backward", "fractional_max_pool{}d_backward")
    TABLE.add_with([name.format(count) for name in names], backward, _GRADIENT_PARAMETERS, 3)


def _drawn_windows(size: int, width: int, output: int, sample: float) -> Windows:
    if output == 1:
        return [range(size - width, size)]
    step = (size - width) / (output - 1)
    starts = [int((at + sample) * step) - int(sample * step) for at in range(output - 1)]
    return [range(start, start + width) for start in (*starts, size - width)]


def _sent(grad: Value, self: Value, indices: Value, count: int) -> Value:
    """Write gradients to the indices of window maxima."""
    whole = flatten(filled(tensor_of(self).sizes, 0.0), -count)
    return reshaped(scatter_add(whole, -1, flatten(indices, -count), flatten(grad, -count)), self.sizes)


@operator("max_unpool2d", "max_unpool3d")
def unpooled(self: Value, indices: Value, output_size: Value, _stride: Value = (), _padding: Value = ()) -> Value:
    """Write elements to their indices before pooling."""
    count = len(output_size)
    sizes = (*tensor_of(self).sizes[:-count], *output_size)
    return _sent(self, filled(sizes, 0.0), indices, count)


@helper()
def max_pool_double_backward(grad: Value, indices: Value, dim: Value) -> Value:
    """The elements at the indices of window maxima."""
    gathered = gather(flatten(grad, -dim), -1, flatten(indices, -dim))
    return reshaped(gathered, tensor_of(indices).sizes)


for _count in (2, 3):
    _add_pooling(_count)
