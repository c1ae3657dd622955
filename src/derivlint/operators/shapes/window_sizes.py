"""Size functions of window operators: convolution, pooling, padding and pixel shuffles."""

from __future__ import annotations

import math

from derivlint.operators.shapes.size_values import (
    IllegalSizesError,
    Sizes,
    Value,
    numbers_of,
    shown,
    sizes_of,
    whole_number,
)


def convolved(
    tensor: Value,
    weight: Value,
    stride: Value,
    padding: Value,
    dilation: Value,
    transposed: Value = False,
    output_padding: Value = 0,
    groups: Value = 1,
) -> Value:
    """Convolve an image, with or without a batch dimension."""
    own, kernel = sizes_of(tensor), sizes_of(weight)
    count = len(kernel) - 2
    if len(own) not in (count + 1, count + 2) or count < 1:
        raise IllegalSizesError(f"{shown(own)} is not what a kernel of {shown(kernel)} runs over")
    channels, expected = own[-count - 1], kernel[0] if transposed else kernel[1] * groups
    if channels != expected:
        raise IllegalSizesError(f"{shown(own)} has {channels} channels, a kernel of {shown(kernel)} takes {expected}")
    steps, pads, gaps = (numbers_of(item, count) for item in (stride, padding, dilation))
    more = numbers_of(output_padding, count)
    sizes = []
    for at, (size, width) in enumerate(zip(own[-count:], kernel[2:], strict=True)):
        reach = gaps[at] * (width - 1) + 1
        if transposed:
            sizes.append((size - 1) * steps[at] - 2 * pads[at] + reach + more[at])
        else:
            sizes.append(int((size + 2 * pads[at] - reach) // steps[at]) + 1)
    outputs = kernel[1] * groups if transposed else kernel[0]
    return Sizes((*own[: -count - 1], outputs, *sizes))


def pooled(
    tensor: Value, kernel: Value, stride: Value, padding: Value, dilation: Value, ceil_mode: Value, count: Value
) -> Value:
    """Pool windows of the last dimensions."""
    own = sizes_of(tensor)
    if len(own) not in (count + 1, count + 2):
        raise IllegalSizesError(f"{shown(own)} does not have {count + 1} or {count + 2} dimensions")
    widths = numbers_of(kernel, count)
    steps = widths if stride is None or stride == () else numbers_of(stride, count)
    pads = (0,) * count if padding is None else numbers_of(padding, count)
    gaps = (1,) * count if dilation is None else numbers_of(dilation, count)
    sizes = []
    for size, width, step, pad, gap in zip(own[-count:], widths, steps, pads, gaps, strict=True):
        room = size + 2 * pad - gap * (width - 1) - 1
        number = (-(-room // step) if ceil_mode else room // step) + 1
        if ceil_mode and (number - 1) * step >= size + pad:
            number -= 1
        if number < 1:
            raise IllegalSizesError(f"a window of {width} does not fit into {size}")
        sizes.append(number)
    return Sizes((*own[:-count], *sizes))


def padded(tensor: Value, padding: Value) -> Value:
    """Pad both ends of the last dimensions; the pairs begin with the last dimension."""
    sizes, pads = list(sizes_of(tensor)), numbers_of(padding)
    if len(pads) % 2 or len(pads) // 2 > len(sizes):
        raise IllegalSizesError(f"{len(pads)} numbers do not pad {shown(sizes)}")
    for at in range(len(pads) // 2):
        sizes[-1 - at] += pads[2 * at] + pads[2 * at + 1]
    return Sizes(sizes)


def columns(tensor: Value, kernel: Value, dilation: Value, padding: Value, stride: Value) -> Value:
    """Unfold an image into columns."""
    own = sizes_of(tensor)
    widths = numbers_of(kernel, 2)
    counts = pooled(own, widths, stride, padding, dilation, False, 2)[-2:]
    return Sizes((*own[:-3], own[-3] * math.prod(widths), math.prod(counts)))


def from_columns(tensor: Value, output: Value, kernel: Value) -> Value:
    """Fold columns into an image."""
    own = sizes_of(tensor)
    return Sizes((*own[:-2], own[-2] // math.prod(numbers_of(kernel, 2)), *numbers_of(output, 2)))


def shuffled(tensor: Value, factor: Value, is_larger: Value) -> Value:
    """Move channels to pixels, or pixels to channels."""
    own, by = sizes_of(tensor), whole_number(factor)
    if len(own) < 3:
        raise IllegalSizesError(f"{shown(own)} is not an image")
    if is_larger:
        return Sizes((*own[:-3], own[-3] // (by * by), own[-2] * by, own[-1] * by))
    return Sizes((*own[:-3], own[-3] * by * by, own[-2] // by, own[-1] // by))
