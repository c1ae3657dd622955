"""Operators that move elements: views, their adjoints, padding, and lists."""

from __future__ import annotations

from collections.abc import Callable

from derivlint.analysis.scalar_evaluation.values import DualList, conj
from derivlint.analysis.small_tensors.tensor import (
    SmallTensor,
    Value,
    broadcast_map,
    broadcast_to,
    coordinates,
    count_of,
    filled,
    helper,
    helpers,
    linear_indices,
    operator,
    operators,
    reshaped,
    strided_view,
    strides_of,
    tensor_of,
)
from derivlint.operators.shapes import size_functions as sizes_by
from derivlint.operators.shapes import window_sizes
from derivlint.operators.shapes.size_values import Sizes, SizesError

#: The end of a slice that means "to the end".
_END = 2**63 - 1


def _axis(dim: Value, rank: int) -> int:
    if type(dim) is not int or not -max(rank, 1) <= dim < max(rank, 1):
        raise SizesError
    return dim % max(rank, 1)


# ---- changed sizes


@helper("view", "reshape", "_unsafe_view", "_reshape_alias", "_reshape_copy", "view_copy", "_mkldnn_reshape")
def view(self: Value, size: Value) -> Value:
    """Reshape."""
    return reshaped(tensor_of(self), sizes_by.reshaped(self.sizes, size))


@operator()
def flatten(self: Value, start_dim: Value = 0, end_dim: Value = -1) -> Value:
    """Merge dimensions."""
    return reshaped(tensor_of(self), sizes_by.flattened(self.sizes, start_dim, end_dim))


@operator()
def unsqueeze(self: Value, dim: Value) -> Value:
    """Insert a dimension of size one."""
    return reshaped(tensor_of(self), sizes_by.unsqueezed(self.sizes, dim))


@operator("expand", "expand_copy")
def expand(self: Value, size: Value, _implicit: Value = False) -> Value:
    """Broadcast to sizes."""
    return broadcast_to(tensor_of(self), sizes_by.expanded(self.sizes, size))


@helper()
def sum_to(self: Value, size: Value) -> Value:
    """Sum over broadcast dimensions."""
    sizes = sizes_by.sum_to(tensor_of(self).sizes, size)
    if sizes == self.sizes:
        return self
    return add_at(broadcast_to(linear_indices(sizes), self.sizes), sizes, self)


@operator()
def repeat(self: Value, repeats: Value) -> Value:
    """Repeat along each dimension."""
    sizes = sizes_by.repeated(tensor_of(self).sizes, repeats)
    own = (1,) * (len(sizes) - len(self.sizes)) + tuple(self.sizes)
    at = [0] * count_of(sizes)
    for axis, (size, stride) in enumerate(zip(own, strides_of(own), strict=True)):
        at = [start + place % size * stride for start, place in zip(at, coordinates(sizes, axis), strict=True)]
    return SmallTensor(sizes, [self.items[index] for index in at])


operators(
    {
        "squeeze": lambda self, dim=None: reshaped(tensor_of(self), sizes_by.squeezed(self.sizes, dim)),
        "expand_as": lambda self, other: expand(self, tuple(tensor_of(other).sizes)),
    }
)


helpers(
    {
        "view_as reshape_as": lambda self, other: view(self, tuple(tensor_of(other).sizes)),
        "copy": lambda self, src: broadcast_to(tensor_of(src), sizes_by.expanding(src.sizes, tensor_of(self).sizes)),
        "reverse_list": lambda items: items[::-1],
    }
)


# ---- views


def _permuted(tensor: SmallTensor, order: list[int]) -> SmallTensor:
    sizes, strides = tensor.sizes, strides_of(tensor.sizes)
    return strided_view(tensor, [sizes[at] for at in order], [strides[at] for at in order])


@helper("transpose", "swapdims", "swapaxes", "transpose_copy")
def transpose(self: Value, dim0: Value, dim1: Value) -> Value:
    """Exchange two dimensions."""
    rank = len(tensor_of(self).sizes)
    first, second = _axis(dim0, rank), _axis(dim1, rank)
    if rank == 0:
        return self
    order = list(range(rank))
    order[first], order[second] = second, first
    return _permuted(self, order)


@operator("t", "t_copy")
def t(self: Value) -> Value:
    """Transpose a matrix."""
    if len(tensor_of(self).sizes) > 2:
        raise SizesError
    return transpose(self, 0, 1) if len(self.sizes) == 2 else self


@operator("mT")
def matrix_transposed(self: Value) -> Value:
    """Transpose matrices."""
    sizes_by.matrix(tensor_of(self).sizes)
    return transpose(self, -2, -1)


@operator("permute", "permute_copy")
def permute(self: Value, dims: Value) -> Value:
    """Reorder the dimensions."""
    rank = len(tensor_of(self).sizes)
    order = [_axis(dim, rank) for dim in dims]
    if sorted(order) != list(range(rank)):
        raise SizesError
    return _permuted(self, order)


@helper("permute_backwards")
def permute_back(self: Value, dims: Value) -> Value:
    """Undo a permutation of dimensions."""
    rank = len(tensor_of(self).sizes)
    order = [_axis(dim, rank) for dim in dims]
    return _permuted(self, [order.index(at) for at in range(rank)])


@operator("select", "select_copy")
def select(self: Value, dim: Value, index: Value) -> Value:
    """A slice of a dimension, without the dimension."""
    sizes, strides = tensor_of(self).sizes, strides_of(self.sizes)
    axis = _axis(dim, len(sizes))
    if not -sizes[axis] <= index < sizes[axis]:
        raise SizesError
    rest = [at for at in range(len(sizes)) if at != axis]
    offset = index % sizes[axis] * strides[axis]
    return strided_view(self, [sizes[at] for at in rest], [strides[at] for at in rest], offset)


@operator("slice", "slice_copy")
def slice_(self: Value, dim: Value = 0, start: Value = None, end: Value = None, step: Value = 1) -> Value:
    """A range of slices of a dimension."""
    sizes, strides = tensor_of(self).sizes, list(strides_of(self.sizes))
    axis = _axis(dim, len(sizes))
    taken = range(sizes[axis])[slice(start, _END if end is None else end, step)]
    offset = taken.start * strides[axis] if len(taken) else 0
    strides[axis] *= step
    return strided_view(self, [*sizes[:axis], len(taken), *sizes[axis + 1 :]], strides, offset)


@operator("narrow", "narrow_copy")
def narrow(self: Value, dim: Value, start: Value, length: Value) -> Value:
    """The indices ``start`` to ``start + length`` of one dimension."""
    axis = _axis(dim, len(tensor_of(self).sizes))
    first = start + self.sizes[axis] if start < 0 else start
    if not 0 <= first <= first + length <= self.sizes[axis]:
        raise SizesError
    return slice_(self, axis, first, first + length)


@operator("diagonal", "diagonal_copy")
def diagonal(self: Value, offset: Value = 0, dim1: Value = 0, dim2: Value = 1) -> Value:
    """A diagonal, as the last dimension."""
    sizes, strides = tensor_of(self).sizes, strides_of(self.sizes)
    view_sizes = sizes_by.diagonal(sizes, offset, dim1, dim2)
    first, second = _axis(dim1, len(sizes)), _axis(dim2, len(sizes))
    rest = [stride for at, stride in enumerate(strides) if at not in (first, second)]
    start = offset * strides[second] if offset >= 0 else -offset * strides[first]
    return strided_view(self, view_sizes, [*rest, strides[first] + strides[second]], start)


@operator("unfold", "unfold_copy")
def unfold(self: Value, dimension: Value, size: Value, step: Value) -> Value:
    """The windows of a dimension."""
    sizes, strides = tensor_of(self).sizes, strides_of(self.sizes)
    view_sizes = sizes_by.unfolded(sizes, dimension, size, step)
    axis = _axis(dimension, len(sizes))
    steps = [stride * step if at == axis else stride for at, stride in enumerate(strides)]
    return strided_view(self, view_sizes, [*steps, strides[axis]])


@operator("as_strided", "as_strided_copy")
def as_strided(self: Value, size: Value, stride: Value, storage_offset: Value = None) -> Value:
    """A view with arbitrary strides."""
    return strided_view(tensor_of(self), size, stride, storage_offset or 0)


@operator()
def flip(self: Value, dims: Value) -> Value:
    """Reverse the elements along dimensions."""
    sizes, strides = tensor_of(self).sizes, list(strides_of(self.sizes))
    offset = 0
    for axis in {_axis(dim, len(sizes)) for dim in ((dims,) if type(dims) is int else dims)}:
        if len(sizes):
            offset += (sizes[axis] - 1) * strides[axis]
            strides[axis] = -strides[axis]
    return strided_view(self, sizes, strides, offset)


@operator()
def roll(self: Value, shifts: Value, dims: Value = ()) -> Value:
    """Shift elements cyclically."""
    steps = (shifts,) if type(shifts) is int else shifts
    if dims == ():
        return reshaped(roll(reshaped(tensor_of(self), Sizes((len(self.items),))), steps, (0,)), self.sizes)
    rolled = tensor_of(self)
    for step, dim in zip(steps, (dims,) if type(dims) is int else dims, strict=True):
        axis = _axis(dim, len(rolled.sizes))
        size, stride = rolled.sizes[axis], strides_of(rolled.sizes)[axis]
        items = rolled.items
        moves = coordinates(rolled.sizes, axis)
        rolled = SmallTensor(
            rolled.sizes, [items[at + ((place - step) % size - place) * stride] for at, place in enumerate(moves)]
        )
    return rolled


@operator()
def rot90(self: Value, k: Value = 1, dims: Value = (0, 1)) -> Value:
    """Rotate a plane by right angles."""
    first, second = dims
    turns = k % 4
    if turns == 0:
        return self
    if turns == 2:
        return flip(self, dims)
    return (
        transpose(flip(self, (second,)), first, second)
        if turns == 1
        else flip(transpose(self, first, second), (second,))
    )


def _triangle(tensor: SmallTensor, keeps: Callable[[int, int], bool]) -> SmallTensor:
    sizes_by.matrix(tensor.sizes)
    rank = len(tensor.sizes)
    rows, columns = coordinates(tensor.sizes, rank - 2), coordinates(tensor.sizes, rank - 1)
    return SmallTensor(
        tensor.sizes,
        [item if keeps(row, column) else 0.0 for item, row, column in zip(tensor.items, rows, columns, strict=True)],
    )


@operator()
def channel_shuffle(self: Value, groups: Value) -> Value:
    """Interleave groups of channels."""
    batch, channels, *rest = tensor_of(self).sizes
    parts = view(self, (batch, groups, channels // groups, *rest))
    return view(transpose(parts, 1, 2), tuple(self.sizes))


@operator()
def pixel_shuffle(self: Value, upscale_factor: Value) -> Value:
    """Move channels to pixels."""
    *batch, channels, height, width = tensor_of(self).sizes
    by = upscale_factor
    parts = view(self, (-1, channels // (by * by), by, by, height, width))
    return view(permute(parts, (0, 1, 4, 2, 5, 3)), (*batch, channels // (by * by), height * by, width * by))


@operator()
def pixel_unshuffle(self: Value, downscale_factor: Value) -> Value:
    """Move pixels to channels."""
    *batch, channels, height, width = tensor_of(self).sizes
    by = downscale_factor
    parts = view(self, (-1, channels, height // by, by, width // by, by))
    return view(permute(parts, (0, 1, 3, 5, 2, 4)), (*batch, channels * by * by, height // by, width // by))


operators(
    {
        "mH adjoint": lambda self: broadcast_map(conj, matrix_transposed(self)),
        "triu": lambda self, diagonal=0: _triangle(tensor_of(self), lambda row, column: column - row >= diagonal),
        "tril": lambda self, diagonal=0: _triangle(tensor_of(self), lambda row, column: column - row <= diagonal),
        "trace": lambda self: SmallTensor(Sizes(), [sum(diagonal(self).items)]),
    }
)


# ---- adjoints of views


def add_at(taken: SmallTensor, sizes: Value, values: Value) -> SmallTensor:
    """Zeros with values added at linear indices."""
    if tensor_of(values).sizes != taken.sizes:
        raise SizesError
    sums = [0.0] * count_of(sizes)
    for at, value in zip(taken.items, values.items, strict=True):
        sums[at] += value
    return SmallTensor(Sizes(sizes), sums)


def put_at(taken: SmallTensor, tensor: SmallTensor, values: Value) -> SmallTensor:
    """A tensor with values written at linear indices."""
    if tensor_of(values).sizes != taken.sizes:
        raise SizesError
    items = list(tensor.items)
    for at, value in zip(taken.items, values.items, strict=True):
        items[at] = value
    return SmallTensor(tensor.sizes, items)


@operator()
def select_backward(grad_output: Value, input_sizes: Value, dim: Value, index: Value) -> Value:
    """Zeros with the gradient in a slice."""
    return add_at(select(linear_indices(input_sizes), dim, index), input_sizes, grad_output)


@operator()
def slice_backward(grad_output: Value, input_sizes: Value, dim: Value, start: Value, end: Value, step: Value) -> Value:
    """Zeros with the gradient in slices."""
    return add_at(slice_(linear_indices(input_sizes), dim, start, end, step), input_sizes, grad_output)


@operator()
def diagonal_backward(grad_output: Value, input_sizes: Value, offset: Value, dim1: Value, dim2: Value) -> Value:
    """Zeros with the gradient on a diagonal."""
    return add_at(diagonal(linear_indices(input_sizes), offset, dim1, dim2), input_sizes, grad_output)


@operator()
def unfold_backward(grad_in: Value, input_sizes: Value, dim: Value, size: Value, step: Value) -> Value:
    """The sum over overlapping windows."""
    return add_at(unfold(linear_indices(input_sizes), dim, size, step), input_sizes, grad_in)


@helper()
def repeat_backward(grad: Value, repeats: Value, input_shape: Value) -> Value:
    """The sum over repetitions."""
    return add_at(repeat(linear_indices(input_shape), repeats), input_shape, grad)


@operator()
def diag_embed(self: Value, offset: Value = 0, dim1: Value = -2, dim2: Value = -1) -> Value:
    """Embed the last dimension as a diagonal."""
    sizes = sizes_by.diagonal_embedded(tensor_of(self).sizes, offset, dim1, dim2)
    return add_at(diagonal(linear_indices(sizes), offset, dim1, dim2), sizes, self)


@operator()
def slice_scatter(
    self: Value, src: Value, dim: Value = 0, start: Value = None, end: Value = None, step: Value = 1
) -> Value:
    """Replace slices."""
    return put_at(slice_(linear_indices(tensor_of(self).sizes), dim, start, end, step), self, src)


@operator()
def select_scatter(self: Value, src: Value, dim: Value, index: Value) -> Value:
    """Replace a slice."""
    return put_at(select(linear_indices(tensor_of(self).sizes), dim, index), self, src)


@operator()
def diagonal_scatter(self: Value, src: Value, offset: Value = 0, dim1: Value = 0, dim2: Value = 1) -> Value:
    """Replace a diagonal."""
    return put_at(diagonal(linear_indices(tensor_of(self).sizes), offset, dim1, dim2), self, src)


@operator()
def as_strided_scatter(self: Value, src: Value, size: Value, stride: Value, storage_offset: Value = None) -> Value:
    """Replace the elements of a view."""
    return put_at(as_strided(linear_indices(tensor_of(self).sizes), size, stride, storage_offset), self, src)


@helper()
def as_strided_backward(
    grad: Value, input_geometry: Value, size: Value, stride: Value, storage_offset: Value = None
) -> Value:
    """The sum over the elements of a view that share memory; the input is contiguous."""
    sizes = tensor_of(input_geometry).sizes
    return add_at(as_strided(linear_indices(sizes), size, stride, storage_offset), sizes, grad)


@helper()
def as_strided_scatter_backward(
    grad: Value,
    input_geometry: Value,
    src_geometry: Value,
    size: Value,
    stride: Value,
    storage_offset: Value = None,
) -> Value:
    """The gradient, zero where a view overwrote the input."""
    if tensor_of(grad).sizes != tensor_of(input_geometry).sizes:
        raise SizesError
    return as_strided_scatter(grad, filled(tensor_of(src_geometry).sizes, 0.0), size, stride, storage_offset)


@operator()
def slice_inverse(
    self: Value, src: Value, dim: Value = 0, start: Value = None, end: Value = None, step: Value = 1
) -> Value:
    """The source with its slice replaced by the tensor."""
    return slice_scatter(src, self, dim, start, end, step)


# ---- padding


@operator()
def constant_pad_nd(self: Value, pad: Value, value: Value = 0) -> Value:
    """Pad both ends with a value; negative padding crops."""
    sizes = window_sizes.padded(tensor_of(self).sizes, pad)
    inner, outer = self, linear_indices(sizes)
    for at in range(len(pad) // 2):
        axis = len(sizes) - 1 - at
        before, after = pad[2 * at], pad[2 * at + 1]
        inner = slice_(inner, axis, max(-before, 0), inner.sizes[axis] - max(-after, 0))
        outer = slice_(outer, axis, max(before, 0), outer.sizes[axis] - max(after, 0))
    return put_at(outer, filled(sizes, float(value)), inner)


helpers(
    {
        "constant_pad_nd_backward": lambda grad, pad: constant_pad_nd(grad, tuple(-width for width in pad)),
    }
)


# ---- lists


@helper("cat", "concat")
def cat(tensors: Value, dim: Value = 0) -> Value:
    """Concatenate tensors."""
    sizes = sizes_by.joined(tuple(tensor_of(tensor).sizes for tensor in tensors), dim)
    axis = _axis(dim, len(sizes))
    joined = filled(sizes, 0.0)
    at, start = linear_indices(sizes), 0
    for tensor in tensors:
        if tensor.sizes == (0,):
            continue
        end = start + tensor.sizes[axis]
        joined = put_at(slice_(at, axis, start, end), joined, tensor)
        start = end
    return joined


@operator("split", "unsafe_split")
def split(self: Value, split_size: Value, dim: Value = 0) -> Value:
    """Split into parts of one size."""
    parts = sizes_by.split(tensor_of(self).sizes, split_size, dim)
    axis = _axis(dim, len(self.sizes))
    slices, start = [], 0
    for part in parts:
        slices.append(slice_(self, axis, start, start + part[axis]))
        start += part[axis]
    return tuple(slices)


@operator()
def unbind(self: Value, dim: Value = 0) -> Value:
    """Split into the slices of a dimension."""
    size = tensor_of(self).sizes[_axis(dim, len(self.sizes))]
    return tuple(select(self, dim, at) for at in range(size))


@helper()
def cat_tensors_backward(grad: Value, sizes: Value, _dtypes: Value, dim: Value) -> Value:
    """Split the gradient into those of the concatenated tensors."""
    axis = _axis(dim, len(tensor_of(grad).sizes))
    return split(grad, tuple(size[axis] for size in sizes), dim)


def _tangents(tensors: Value) -> Value:
    if type(tensors) is not DualList:
        raise SizesError
    return tensors.tangents


def _parts(grads: Value) -> Value:
    """The gradients of all parts.

    Raises:
        SizesError: there is a single gradient.
    """
    if type(grads) is not DualList:
        raise SizesError
    return grads


@helper("split_backward", "split_with_sizes_backward")
def split_backward(grads: Value, split_sizes: Value, dim: Value, sizes: Value, _options: Value) -> Value:
    """Concatenate the gradients of parts."""
    parts = sizes_by.split(Sizes(sizes), split_sizes, dim)
    if tuple(part.sizes for part in _parts(grads)) != parts:
        raise SizesError
    return cat(grads, dim)


@operator()
def stack(tensors: Value, dim: Value = 0) -> Value:
    """Join tensors along a new dimension."""
    return cat(tuple(unsqueeze(tensor, dim) for tensor in tensors), dim)


def _blocks(matrix: SmallTensor, sizes: Value) -> tuple[SmallTensor, ...]:
    """The blocks of these sizes along the diagonal."""
    blocks, row, column = [], 0, 0
    for height, width in sizes:
        blocks.append(slice_(slice_(matrix, 0, row, row + height), 1, column, column + width))
        row, column = row + height, column + width
    if list(matrix.sizes) != [row, column]:
        raise SizesError
    return tuple(blocks)


@operator()
def block_diag(tensors: Value) -> Value:
    """Matrices along the diagonal of a matrix of zeros."""
    sizes = [tensor_of(tensor).sizes for tensor in tensors]
    whole = filled([sum(axis) for axis in zip(*sizes, strict=True)], 0.0)
    for at, tensor in zip(_blocks(linear_indices(whole.sizes), sizes), tensors, strict=True):
        whole = put_at(at, whole, tensor)
    return whole


operators(
    {
        "split_with_sizes unsafe_split_with_sizes": lambda self, split_sizes, dim=0: split(self, split_sizes, dim),
    }
)


helpers(
    {
        "stack_tensors_backward": lambda grad, dim, _dtypes: unbind(grad, dim),
        "unbind_backward": lambda grads, dim: stack(_parts(grads), dim),
        "cat_jvp": lambda tensors, dim: cat(_tangents(tensors), dim),
        "block_diag_backward": lambda grad, sizes, _dtypes: _blocks(tensor_of(grad), sizes),
        "block_diag_jvp": lambda tensors: block_diag(_tangents(tensors)),
        "stack_jvp": lambda tensors, dim: stack(_tangents(tensors), dim),
    }
)
