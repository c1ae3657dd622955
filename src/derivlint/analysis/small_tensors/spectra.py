"""Fourier transforms, and views of complex numbers as pairs of real ones."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

from derivlint.analysis.small_tensors.reduce_ops import along_axis
from derivlint.analysis.small_tensors.tensor import (
    SmallTensor,
    Value,
    broadcast_map,
    helper,
    operator,
    operators,
    tensor_of,
)
from derivlint.analysis.small_tensors.view_ops import constant_pad_nd, slice_
from derivlint.operators.shapes.size_values import Sizes, SizesError

#: The maximum number of frequencies, whose sums are computed one by one; a formula can request any sizes.
_LARGEST_SIDE = 32


def _transformed(tensor: Value, dims: Sequence[int], normalization: Value, forward: Value) -> SmallTensor:
    """The discrete Fourier transform, normalized by 1, by the root of the number of elements, or by the number."""
    sizes = tensor_of(tensor).sizes
    if max((sizes[dim] for dim in dims), default=0) > _LARGEST_SIDE:
        raise SizesError
    count = math.prod(sizes[dim] for dim in dims)
    factor = (1.0, count**-0.5, 1 / count)[normalization]
    sign = -1 if forward else 1
    result = SmallTensor(sizes, [complex(item) * factor for item in tensor.items])
    for dim in dims:

        def spectrum(items: Sequence[Value]) -> list[Value]:
            roots = [cmath.exp(2j * sign * math.pi * at / len(items)) for at in range(len(items))]
            return [
                sum(item * roots[at * frequency % len(items)] for at, item in enumerate(items))
                for frequency in range(len(items))
            ]

        result = along_axis(result, dim % len(sizes), spectrum)
    return result


def _real(tensor: Value) -> Value:
    return broadcast_map(lambda item: item.real, tensor)


def _half(tensor: Value, dim: int) -> Value:
    """The frequencies of which the others are conjugates."""
    return slice_(tensor, dim, 0, tensor.sizes[dim] // 2 + 1)


@operator()
def _fft_r2c(self: Value, dim: Value, normalization: Value, onesided: Value) -> Value:
    """The transform of real numbers."""
    spectrum = _transformed(self, dim, normalization, True)
    return _half(spectrum, dim[-1]) if onesided else spectrum


def _padded(tensor: Value, dim: int, size: int) -> SmallTensor:
    """The tensor with zeros at the end of a dimension."""
    rank = len(tensor_of(tensor).sizes)
    widths = [0] * (2 * rank)
    widths[2 * (rank - 1 - dim % rank) + 1] = size - tensor.sizes[dim]
    padded: SmallTensor = constant_pad_nd(tensor, tuple(widths))
    return padded


@operator()
def _fft_c2r(self: Value, dim: Value, normalization: Value, last_dim_size: Value) -> Value:
    """The inverse transform to real numbers, from half of the frequencies."""
    if tensor_of(self).sizes[dim[-1]] != last_dim_size // 2 + 1:
        raise SizesError

    def doubled(items: Sequence[Value]) -> list[Value]:
        return [item * (2 if 0 < 2 * at < last_dim_size else 1) for at, item in enumerate(items)]

    # other frequencies are conjugates, so that the sums have twice these real parts
    return fft_r2c_backward(
        along_axis(self, dim[-1] % len(self.sizes), doubled), dim, normalization, True, last_dim_size
    )


@helper()
def fft_r2c_backward(grad: Value, dim: Value, normalization: Value, onesided: Value, last_dim_size: Value) -> Value:
    """The real part of the inverse transform of the frequencies, the others being zero."""
    whole = _padded(grad, dim[-1], last_dim_size) if onesided else grad
    return _real(_transformed(whole, dim, normalization, False))


@helper()
def fft_c2r_backward(grad: Value, dim: Value, normalization: Value) -> Value:
    """The transform, twice for frequencies that have conjugates."""
    half = _fft_r2c(grad, dim, normalization, True)
    last, size = dim[-1], tensor_of(grad).sizes[dim[-1]]
    n_doubled = size - half.sizes[last]

    def doubled(items: Sequence[Value]) -> list[Value]:
        return [item * (2 if 1 <= at <= n_doubled else 1) for at, item in enumerate(items)]

    return along_axis(half, last % len(half.sizes), doubled)


@helper("view_as_real")
def view_as_real(self: Value) -> Value:
    """Pairs of real and imaginary parts."""
    if any(type(item) is not complex for item in tensor_of(self).items):
        raise SizesError
    return SmallTensor(Sizes((*self.sizes, 2)), [part for item in self.items for part in (item.real, item.imag)])


@helper("view_as_complex")
def view_as_complex(self: Value) -> Value:
    """Complex numbers of pairs of real ones."""
    *sizes, last = tensor_of(self).sizes
    if last != 2 or any(type(item) is complex for item in self.items):
        raise SizesError
    return SmallTensor(Sizes(sizes), list(map(complex, self.items[::2], self.items[1::2])))


operators(
    {
        "_fft_c2c": lambda self, dim, normalization, forward: _transformed(self, dim, normalization, forward),
    }
)
