"""Padding, pooling and resizing of images: along each of the last dimensions an output is a sum of weighted inputs.

What such an operator does to gradients has the same weights with inputs and outputs exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from derivlint.analysis.small_tensors.moving import flatten
from derivlint.analysis.small_tensors.placing import gather, scatter_add
from derivlint.analysis.small_tensors.reducing import along_axis
from derivlint.analysis.small_tensors.table import TABLE, helper, operator
from derivlint.analysis.small_tensors.tensor import Value, filled, reshaped, tensor_of
from derivlint.operators.shapes import size_functions as sizes_by
from derivlint.operators.shapes import window_sizes
from derivlint.operators.shapes.size_values import SizesError

#: For each output along a dimension the inputs with their weights.
Rows = Sequence[Sequence[tuple[int, float]]]


def _weighted(tensor: Value, rows_of_axes: Sequence[Rows]) -> Value:
    """An operator on the last dimensions."""
    found = tensor_of(tensor)
    for at, rows in enumerate(reversed(rows_of_axes)):
        found = along_axis(found, len(found.sizes) - 1 - at, _sums(rows))
    return found


def _sums(rows: Rows) -> Callable[[Sequence[Value]], list[Value]]:
    return lambda items: [sum(weight * items[at] for at, weight in row) for row in rows]


def _exchanged(rows: Rows, size: int) -> Rows:
    """The same with inputs and outputs exchanged."""
    found: list[list[tuple[int, float]]] = [[] for _ in range(size)]
    for output, row in enumerate(rows):
        for at, weight in row:
            found[at].append((output, weight))
    return found


def _pulled(grad: Value, rows_of_axes: Sequence[Rows], sizes: Sequence[int]) -> Value:
    """The gradient of an input of these sizes."""
    last = sizes[len(sizes) - len(rows_of_axes) :]
    outputs = [len(rows) for rows in rows_of_axes]
    if list(tensor_of(grad).sizes) != [*sizes[: len(sizes) - len(last)], *outputs]:
        raise SizesError
    return _weighted(grad, [_exchanged(rows, size) for rows, size in zip(rows_of_axes, last, strict=True)])


# ---- padding


def _padded(place: Callable[[int, int], int]) -> Callable[[Sequence[int], Sequence[int]], list[Rows]]:
    def rows(sizes: Sequence[int], padding: Sequence[int]) -> list[Rows]:
        found: list[Rows] = []
        count = len(padding) // 2
        for at, size in enumerate(sizes[len(sizes) - count :]):
            before, after = padding[2 * (count - 1 - at)], padding[2 * (count - 1 - at) + 1]
            found.append([[(place(index, size), 1.0)] for index in range(-before, size + after)])
        return found

    return rows


def _reflected(index: int, size: int) -> int:
    mirrored = abs(index)
    found = 2 * (size - 1) - mirrored if mirrored >= size else mirrored
    if not 0 <= found < size:
        raise SizesError
    return found


_REFLECTION = _padded(_reflected)
_REPLICATION = _padded(lambda index, size: min(max(index, 0), size - 1))


@helper("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection(self: Value, padding: Value) -> Value:
    """More elements at both ends, in reverse order."""
    return _weighted(self, _REFLECTION(tensor_of(self).sizes, padding))


@helper("reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward")
def reflection_backward(grad_output: Value, self: Value, padding: Value) -> Value:
    """What flows back to the elements."""
    return _pulled(grad_output, _REFLECTION(tensor_of(self).sizes, padding), self.sizes)


@helper("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication(self: Value, padding: Value) -> Value:
    """The outermost elements again at both ends."""
    return _weighted(self, _REPLICATION(tensor_of(self).sizes, padding))


@helper("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def replication_backward(grad_output: Value, self: Value, padding: Value) -> Value:
    """What flows back to the elements."""
    return _pulled(grad_output, _REPLICATION(tensor_of(self).sizes, padding), self.sizes)


# ---- pooling


def _averaged(
    sizes: Sequence[int], kernel: Value, stride: Value, padding: Value, ceil: Value, with_padding: Value, divisor: Value
) -> list[Rows]:
    count = len(kernel)
    wanted = window_sizes.pooled(sizes_by.sized(tuple(sizes)), kernel, stride, padding, 1, ceil, count)
    steps = stride or kernel
    found: list[Rows] = []
    for at in range(count):
        size, rows = sizes[len(sizes) - count + at], []
        for place in range(wanted[len(wanted) - count + at]):
            start = place * steps[at] - padding[at]
            end = min(start + kernel[at], size + padding[at])
            inside = range(max(start, 0), min(end, size))
            weight = 1 / (end - start if with_padding else len(inside))
            if divisor is not None:
                weight = 1 / divisor if at == 0 else 1.0
            rows.append([(each, weight) for each in inside])
        found.append(rows)
    return found


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
    """What flows back through means of windows."""
    rows = _averaged(
        tensor_of(self).sizes, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return _pulled(grad_output, rows, self.sizes)


def _adapted(sizes: Sequence[int], output_size: Sequence[int]) -> list[Rows]:
    found: list[Rows] = []
    for size, wanted in zip(sizes[len(sizes) - len(output_size) :], output_size, strict=True):
        windows = [range(at * size // wanted, -(-(at + 1) * size // wanted)) for at in range(wanted)]
        found.append([[(each, 1 / len(window)) for each in window] for window in windows])
    return found


@helper("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "mkldnn_adaptive_avg_pool2d")
def adaptive_average(self: Value, output_size: Value) -> Value:
    """The means of as many windows as are asked for."""
    return _weighted(self, _adapted(tensor_of(self).sizes, output_size))


def _adaptive_backward(grad_output: Value, self: Value, count: int) -> Value:
    return _pulled(grad_output, _adapted(tensor_of(self).sizes, tensor_of(grad_output).sizes[-count:]), self.sizes)


@helper("_adaptive_avg_pool2d_backward", "mkldnn_adaptive_avg_pool2d_backward")
def adaptive_average_backward(grad_output: Value, self: Value) -> Value:
    """What flows back through these means."""
    return _adaptive_backward(grad_output, self, 2)


@helper("_adaptive_avg_pool3d_backward")
def adaptive_average_backward_of_volumes(grad_output: Value, self: Value) -> Value:
    """The same for three dimensions."""
    return _adaptive_backward(grad_output, self, 3)


def _sent(grad: Value, self: Value, indices: Value, count: int) -> Value:
    """Gradients where the largest elements of windows were."""
    whole = flatten(filled(tensor_of(self).sizes, 0.0), -count)
    return reshaped(scatter_add(whole, -1, flatten(indices, -count), flatten(grad, -count)), self.sizes)


#: The parameters of what sends gradients back through the largest elements of windows.
_LARGEST = (
    *("grad_output", "self", "indices", "_kernel_size", "_stride", "_padding", "_dilation", "_ceil_mode"),
    "_output_size",
)


def _largest_backward(count: int) -> Callable[..., Value]:
    return lambda grad_output, self, indices, *_: _sent(grad_output, self, indices, count)


for _count in (2, 3):
    TABLE.add_with(
        (
            f"max_pool{_count}d_with_indices_backward",
            f"adaptive_max_pool{_count}d_backward",
            f"fractional_max_pool{_count}d_backward",
        ),
        _largest_backward(_count),
        _LARGEST,
        3,
    )


@operator("max_unpool2d")
def unpooled(self: Value, indices: Value, output_size: Value) -> Value:
    """Elements at the places that they had before they were pooled."""
    sizes = (*tensor_of(self).sizes[:-2], *output_size)
    return _sent(self, filled(sizes, 0.0), indices, 2)


@helper()
def max_pool_double_backward(grad: Value, indices: Value, dim: Value) -> Value:
    """The elements that the largest ones of windows were."""
    found = gather(flatten(grad, -dim), -1, flatten(indices, -dim))
    return reshaped(found, tensor_of(indices).sizes)


# ---- other sizes


def _nearest(half: float) -> Callable[[int, int, Value, Value], Rows]:
    def rows(size: int, wanted: int, _: Value, scale: Value) -> Rows:
        factor = 1 / scale if scale else size / wanted
        return [[(min(math.floor((at + half) * factor), size - 1), 1.0)] for at in range(wanted)]

    return rows


def _linear(size: int, wanted: int, aligned: Value, scale: Value) -> Rows:
    found = []
    for at in range(wanted):
        if aligned:
            place = at * (size - 1) / (wanted - 1) if wanted > 1 else 0.0
        else:
            place = max((at + 0.5) * (1 / scale if scale else size / wanted) - 0.5, 0.0)
        first = min(int(place), size - 1)
        rest = place - first
        found.append([(first, 1 - rest), (min(first + 1, size - 1), rest)])
    return found


def _add_resizing(name: str, count: int, rows: Callable[[int, int, Value, Value], Rows], is_aligned: bool) -> None:
    """An operator that resizes, and the one for its gradients."""

    def rows_of(sizes: Sequence[int], output_size: Sequence[int], more: Sequence[Value]) -> list[Rows]:
        aligned, scales = (more[0], more[1:]) if is_aligned else (False, more)
        scales = (*scales, *(None,) * (count - len(scales)))
        last = sizes[len(sizes) - count :]
        return [rows(*each) for each in zip(last, output_size, (aligned,) * count, scales, strict=True)]

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


def _resizings() -> None:
    for count, linear in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
        _add_resizing(f"upsample_{linear}", count, _linear, True)
        _add_resizing(f"upsample_nearest{count}d", count, _nearest(0.0), False)
        _add_resizing(f"_upsample_nearest_exact{count}d", count, _nearest(0.5), False)


_resizings()
