"""Padding, pooling and resizing of images: outputs are weighted sums of inputs along each of the last dimensions.

The adjoint has the same weights with inputs and outputs exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from derivlint.analysis.small_tensors.reduce_ops import along_axis
from derivlint.analysis.small_tensors.tensor import TABLE, Value, count_of, helper, helpers, tensor_of
from derivlint.operators.shapes import size_functions as sizes_by
from derivlint.operators.shapes import window_sizes
from derivlint.operators.shapes.size_values import SizesError

#: The weighted inputs of each output along a dimension.
Rows = Sequence[Sequence[tuple[int, float]]]


def _weighted(tensor: Value, rows_of_axes: Sequence[Rows]) -> Value:
    """Apply weighted sums along the last dimensions."""
    result = tensor_of(tensor)
    for at, rows in enumerate(reversed(rows_of_axes)):

        def sums(items: Sequence[Value], rows: Rows = rows) -> list[Value]:
            return [sum(weight * items[at] for at, weight in row) for row in rows]

        result = along_axis(result, len(result.sizes) - 1 - at, sums)
    return result


def _exchanged(rows: Rows, size: int) -> Rows:
    """Exchange inputs and outputs."""
    exchanged: list[list[tuple[int, float]]] = [[] for _ in range(size)]
    for output, row in enumerate(rows):
        for at, weight in row:
            exchanged[at].append((output, weight))
    return exchanged


def _pulled(grad: Value, rows_of_axes: Sequence[Rows], sizes: Sequence[int]) -> Value:
    """The gradient for an input of these sizes."""
    last = sizes[len(sizes) - len(rows_of_axes) :]
    outputs = [len(rows) for rows in rows_of_axes]
    if list(tensor_of(grad).sizes) != [*sizes[: len(sizes) - len(last)], *outputs]:
        raise SizesError
    return _weighted(grad, [_exchanged(rows, size) for rows, size in zip(rows_of_axes, last, strict=True)])


# ---- padding


def _padded(place: Callable[[int, int], int]) -> Callable[[Sequence[int], Sequence[int]], list[Rows]]:
    def rows(sizes: Sequence[int], padding: Sequence[int]) -> list[Rows]:
        rows_of_axes: list[Rows] = []
        count = len(padding) // 2
        for at, size in enumerate(sizes[len(sizes) - count :]):
            before, after = padding[2 * (count - 1 - at)], padding[2 * (count - 1 - at) + 1]
            count_of((before + size + after,))
            rows_of_axes.append([[(place(index, size), 1.0)] for index in range(-before, size + after)])
        return rows_of_axes

    return rows


def _reflected(index: int, size: int) -> int:
    mirrored = abs(index)
    position = 2 * (size - 1) - mirrored if mirrored >= size else mirrored
    if not 0 <= position < size:
        raise SizesError
    return position


_REFLECTION = _padded(_reflected)
_REPLICATION = _padded(lambda index, size: min(max(index, 0), size - 1))


@helper("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection(self: Value, padding: Value) -> Value:
    """Pad with reflected elements."""
    return _weighted(self, _REFLECTION(tensor_of(self).sizes, padding))


@helper("reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward")
def reflection_backward(grad_output: Value, self: Value, padding: Value) -> Value:
    """The adjoint of reflection."""
    return _pulled(grad_output, _REFLECTION(tensor_of(self).sizes, padding), self.sizes)


@helper("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication(self: Value, padding: Value) -> Value:
    """Pad with the outermost elements."""
    return _weighted(self, _REPLICATION(tensor_of(self).sizes, padding))


@helper("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def replication_backward(grad_output: Value, self: Value, padding: Value) -> Value:
    """The adjoint of replication."""
    return _pulled(grad_output, _REPLICATION(tensor_of(self).sizes, padding), self.sizes)


# ---- pooling


def _averaged(
    sizes: Sequence[int], kernel: Value, stride: Value, padding: Value, ceil: Value, with_padding: Value, divisor: Value
) -> list[Rows]:
    count = len(kernel)
    output_sizes = window_sizes.pooled(sizes_by.sized(tuple(sizes)), kernel, stride, padding, 1, ceil, count)
    count_of(output_sizes)
    steps = stride or kernel
    rows_of_axes: list[Rows] = []
    for at in range(count):
        size, rows = sizes[len(sizes) - count + at], []
        for place in range(output_sizes[len(output_sizes) - count + at]):
            start = place * steps[at] - padding[at]
            end = min(start + kernel[at], size + padding[at])
            inside = range(max(start, 0), min(end, size))
            weight = 1 / (end - start if with_padding else len(inside))
            if divisor is not None:
                weight = 1 / divisor if at == 0 else 1.0
            rows.append([(position, weight) for position in inside])
        rows_of_axes.append(rows)
    return rows_of_axes


@helper("avg_pool2d", "avg_pool3d")
def average(
    self: Value,
    kernel_size: Value,
    stride: Value = (),
    padding: Value = (0, 0, 0),
    ceil_mode: Value = False,
    count_include_pad: Value = True,
    divisor_override: Value = None,
) -> Value:
    """The means of windows."""
    rows = _averaged(
        tensor_of(self).sizes, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return _weighted(self, rows)


@helper("avg_pool2d_backward", "avg_pool3d_backward")
def average_backward(
    grad_output: Value,
    self: Value,
    kernel_size: Value,
    stride: Value,
    padding: Value,
    ceil_mode: Value,
    count_include_pad: Value,
    divisor_override: Value,
) -> Value:
    """The adjoint of average pooling."""
    rows = _averaged(
        tensor_of(self).sizes, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return _pulled(grad_output, rows, self.sizes)


def adaptive_windows(sizes: Sequence[int], output_size: Sequence[int]) -> list[list[range]]:
    """The windows along each dimension of an image, as many as there are outputs."""
    count_of(output_size)
    return [
        [range(at * size // output, -(-(at + 1) * size // output)) for at in range(output)]
        for size, output in zip(sizes, output_size, strict=True)
    ]


def _adapted(sizes: Sequence[int], output_size: Sequence[int]) -> list[Rows]:
    windows_of_axes = adaptive_windows(sizes[len(sizes) - len(output_size) :], output_size)
    return [[[(at, 1 / len(window)) for at in window] for window in windows] for windows in windows_of_axes]


@helper("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "mkldnn_adaptive_avg_pool2d")
def adaptive_average(self: Value, output_size: Value) -> Value:
    """The means of a fixed number of windows."""
    return _weighted(self, _adapted(tensor_of(self).sizes, output_size))


def _adaptive_backward(grad_output: Value, self: Value, count: int) -> Value:
    return _pulled(grad_output, _adapted(tensor_of(self).sizes, tensor_of(grad_output).sizes[-count:]), self.sizes)


@helper("_adaptive_avg_pool2d_backward", "mkldnn_adaptive_avg_pool2d_backward")
def adaptive_average_backward(grad_output: Value, self: Value) -> Value:
    """The adjoint of adaptive average pooling."""
    return _adaptive_backward(grad_output, self, 2)


helpers(
    {
        "_adaptive_avg_pool3d_backward": lambda grad_output, self: _adaptive_backward(grad_output, self, 3),
    }
)


# ---- resizing


def _nearest(half: float) -> Callable[[int, int, Value, Value], Rows]:
    def rows(size: int, output_size: int, _: Value, scale: Value) -> Rows:
        factor = 1 / scale if scale else size / output_size
        return [[(min(math.floor((at + half) * factor), size - 1), 1.0)] for at in range(output_size)]

    return rows


def _step(size: int, output_size: int, aligned: Value, scale: Value) -> float:
    """The distance of the places of two outputs."""
    if aligned:
        return (size - 1) / (output_size - 1) if output_size > 1 else 0.0
    return 1 / scale if scale else size / output_size


def _linear(size: int, output_size: int, aligned: Value, scale: Value) -> Rows:
    step = _step(size, output_size, aligned, scale)
    rows = []
    for at in range(output_size):
        place = at * step if aligned else max((at + 0.5) * step - 0.5, 0.0)
        first = min(int(place), size - 1)
        rest = place - first
        rows.append([(first, 1 - rest), (min(first + 1, size - 1), rest)])
    return rows


def _cubic(distance: float, a: float = -0.75) -> float:
    """Keys' cubic convolution kernel."""
    x = abs(distance)
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2 else 0.0


def _lanczos(distance: float) -> float:
    """The sinc function, windowed by a wider one."""
    angle = math.pi * distance
    if not angle:
        return 1.0
    return 3 * math.sin(angle) * math.sin(angle / 3) / angle**2 if abs(distance) < 3 else 0.0


def _bicubic(size: int, output_size: int, aligned: Value, scale: Value) -> Rows:
    step = _step(size, output_size, aligned, scale)
    rows = []
    for at in range(output_size):
        place = at * step if aligned else (at + 0.5) * step - 0.5
        around = range(math.floor(place) - 1, math.floor(place) + 3)
        rows.append([(min(max(index, 0), size - 1), _cubic(place - index)) for index in around])
    return rows


def _antialiased(kernel: Callable[[float], float], support: int) -> Callable[[int, int, Value, Value], Rows]:
    def rows(size: int, output_size: int, aligned: Value, scale: Value) -> Rows:
        step = _step(size, output_size, aligned, scale)
        width = max(step, 1.0)
        rows = []
        for at in range(output_size):
            center = (at + 0.5) * step
            first, end = (int(center + sign * support * width + 0.5) for sign in (-1, 1))
            window = range(max(first, 0), min(end, size))
            weights = [kernel((index - center + 0.5) / width) for index in window]
            rows.append([(index, weight / sum(weights)) for index, weight in zip(window, weights, strict=True)])
        return rows

    return rows


def _add_resizing(name: str, count: int, rows: Callable[[int, int, Value, Value], Rows], is_aligned: bool) -> None:
    """Register a resizing operator and its adjoint."""

    def rows_of(sizes: Sequence[int], output_size: Sequence[int], more: Sequence[Value]) -> list[Rows]:
        aligned, scales = (more[0], more[1:]) if is_aligned else (False, more)
        scales = (*scales, *(None,) * (count - len(scales)))
        last = sizes[len(sizes) - count :]
        count_of(last), count_of(output_size)
        return [rows(*axis) for axis in zip(last, output_size, (aligned,) * count, scales, strict=True)]

    def forward(self: Value, output_size: Value, *more: Value) -> Value:
        return _weighted(self, rows_of(tensor_of(self).sizes, output_size, more))

    def backward(grad_output: Value, output_size: Value, input_size: Value, *more: Value) -> Value:
        return _pulled(grad_output, rows_of(input_size, output_size, more), input_size)

    flags = ("align_corners",) if is_aligned else ()
    scales = ("scales",) if count == 1 else ("scales_d", "scales_h", "scales_w")[3 - count :]
    of_tensor: tuple[str, ...] = ("self", "output_size", *flags)
    of_gradient: tuple[str, ...] = ("grad_output", "output_size", "input_size", *flags)
    for function, needed, key in ((forward, of_tensor, name), (backward, of_gradient, f"{name}_backward")):
        TABLE.add_with((key,), function, (*needed, *scales), len(needed))


for _count, _name in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
    _add_resizing(f"upsample_{_name}", _count, _linear, True)
    _add_resizing(f"upsample_nearest{_count}d", _count, _nearest(0.0), False)
    _add_resizing(f"_upsample_nearest_exact{_count}d", _count, _nearest(0.5), False)
_add_resizing("upsample_bicubic2d", 2, _bicubic, True)
for _name, _kernel, _support in (
    ("bilinear", lambda distance: max(1 - abs(distance), 0.0), 1),
    ("bicubic", partial(_cubic, a=-0.5), 2),
    ("lanczos", _lanczos, 3),
):
    _add_resizing(f"_upsample_{_name}2d_aa", 2, _antialiased(_kernel, _support), True)
