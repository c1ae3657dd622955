"""Size functions: the sizes of results from the sizes of operands.

The expressions in ``data/shapes.txt`` call these functions and those of :mod:`derivlint.operators.shapes.window_sizes`.
"""

from __future__ import annotations

import math

from derivlint.operators.shapes.size_values import (
    UNKNOWN,
    IllegalSizesError,
    Sizes,
    SizesError,
    Value,
    axes_of,
    axis_of,
    bounded,
    is_expandable,
    numbers_of,
    shown,
    sizes_of,
    whole_number,
    with_size,
)

# ---- elements


def broadcast(*operands: Value) -> Value:
    """Broadcast operands; numbers and absent operands are ignored."""
    result: Value = UNKNOWN
    for operand in operands:
        if type(operand) is Sizes and operand != result:
            result = operand if result is UNKNOWN else _broadcast(result, operand)
    return result


def _broadcast(left: Sizes, right: Sizes) -> Sizes:
    if len(left) < len(right):
        left, right = right, left
    if len(right) == 0:
        return left
    offset = len(left) - len(right)
    sizes = list(left)
    for at, size in enumerate(right, offset):
        if size != sizes[at]:
            if size != 1 and sizes[at] != 1:
                raise IllegalSizesError(f"{shown(left)} and {shown(right)} do not broadcast")
            sizes[at] = size * sizes[at] if size and sizes[at] else 0
    return Sizes(sizes)


def sized(sizes: Value) -> Value:
    """A tensor with these sizes."""
    numbers = numbers_of(sizes)
    if any(type(size) is not int for size in numbers):
        raise SizesError
    return Sizes(numbers)


def expanding(operand: Value, target: Value) -> Value:
    """The second operand, to which the first one must be expandable."""
    target_sizes = sizes_of(target)
    if type(operand) is Sizes and not is_expandable(operand, target_sizes):
        raise IllegalSizesError(f"{shown(operand)} cannot be expanded to {shown(target_sizes)}")
    return target_sizes


def same(first: Value, *more: Value) -> Value:
    """The first operand, whose sizes the others must have."""
    expected = sizes_of(first)
    for operand in more:
        if type(operand) is Sizes and operand != expected:
            raise IllegalSizesError(f"{shown(operand)} is not {shown(expected)}")
    return expected


def of_rank(tensor: Value, *ranks: Value) -> Value:
    """The tensor, whose rank must be one of these."""
    sizes = sizes_of(tensor)
    if len(sizes) not in ranks:
        raise IllegalSizesError(f"{shown(sizes)} has {len(sizes)} dimensions, not {' or '.join(map(str, ranks))}")
    return sizes


def reshaped(tensor: Value, sizes: Value) -> Value:
    """Reshape to other sizes; one of them may be -1."""
    count = math.prod(sizes_of(tensor))
    new_sizes = list(numbers_of(sizes))
    product_of_sizes = math.prod(size for size in new_sizes if size != -1)
    if new_sizes.count(-1) == 1:
        if product_of_sizes == 0:
            raise SizesError
        new_sizes[new_sizes.index(-1)] = count // product_of_sizes
    if math.prod(new_sizes) != count or min(new_sizes, default=0) < 0:
        raise IllegalSizesError(f"{shown(sizes_of(tensor))} cannot be viewed as {shown(numbers_of(sizes))}")
    return Sizes(new_sizes)


def expanded(tensor: Value, sizes: Value) -> Value:
    """Expand to other sizes, where -1 keeps a size."""
    own, new_sizes = sizes_of(tensor), list(numbers_of(sizes))
    offset = len(new_sizes) - len(own)
    for at, size in enumerate(new_sizes):
        if size == -1 and at >= offset:
            new_sizes[at] = own[at - offset]
    if not is_expandable(own, new_sizes):
        raise IllegalSizesError(f"{shown(own)} cannot be expanded to {shown(new_sizes)}")
    return Sizes(new_sizes)


def sum_to(tensor: Value, sizes: Value) -> Value:
    """The sizes of a sum over the broadcast dimensions."""
    own, target = sizes_of(tensor), numbers_of(sizes)
    if not is_expandable(target, own):
        raise IllegalSizesError(f"{shown(own)} cannot be summed up to {shown(target)}")
    return Sizes(target)


# ---- dimensions


def reduced(tensor: Value, dims: Value = None, keepdim: Value = False) -> Value:
    """Remove dimensions, by default all, or set their sizes to one if ``keepdim``."""
    sizes = sizes_of(tensor)
    rank = len(sizes)
    axes = frozenset(range(rank)) if dims is None or dims == () else axes_of(dims, rank)
    if keepdim:
        return Sizes(1 if at in axes else size for at, size in enumerate(sizes))
    return Sizes(size for at, size in enumerate(sizes) if at not in axes)


def unreduced(tensor: Value, dims: Value, keepdim: Value = False, rank: Value = None) -> Value:
    """Restore reduced dimensions, with size one."""
    sizes = sizes_of(tensor)
    if keepdim or dims is None or dims == () or rank == 0:
        return sizes
    axes = numbers_of(dims)
    total = len(sizes) + len(axes) if rank is None else whole_number(rank)
    for axis in sorted(axes_of(axes, total)):
        sizes = unsqueezed(sizes, axis)
    return sizes


def unsqueezed(tensor: Value, dim: Value) -> Value:
    """Insert a dimension of size one."""
    sizes = sizes_of(tensor)
    axis = axis_of(dim, len(sizes) + 1)
    return Sizes((*sizes[:axis], 1, *sizes[axis:]))


def squeezed(tensor: Value, dims: Value = None) -> Value:
    """Remove all or some dimensions of size one."""
    sizes = sizes_of(tensor)
    axes = frozenset(range(len(sizes))) if dims is None else axes_of(dims, len(sizes))
    return Sizes(size for at, size in enumerate(sizes) if at not in axes or size != 1)


def transposed(tensor: Value, one: Value = 0, other: Value = 1) -> Value:
    """Exchange two dimensions."""
    sizes = list(sizes_of(tensor))
    first, second = axis_of(one, len(sizes)), axis_of(other, len(sizes))
    if sizes:
        sizes[first], sizes[second] = sizes[second], sizes[first]
    return Sizes(sizes)


def matrix_transposed(tensor: Value) -> Value:
    """Exchange the last two dimensions."""
    sizes = sizes_of(tensor)
    if len(sizes) < 2:
        raise IllegalSizesError(f"{shown(sizes)} is not a matrix")
    return transposed(sizes, -1, -2)


def permuted(tensor: Value, dims: Value) -> Value:
    """Permute the dimensions."""
    sizes, order = sizes_of(tensor), numbers_of(dims)
    if len(order) != len(sizes) or len(axes_of(order, len(sizes))) != len(sizes):
        raise IllegalSizesError(f"{shown(order)} does not name all of {len(sizes)} dimensions")
    return Sizes(sizes[dim] for dim in order)


def permuted_back(tensor: Value, dims: Value) -> Value:
    """Undo a permutation of the dimensions."""
    sizes, order = sizes_of(tensor), numbers_of(dims)
    if len(order) != len(sizes) or len(axes_of(order, len(sizes))) != len(sizes):
        raise IllegalSizesError(f"{shown(order)} does not name all of {len(sizes)} dimensions")
    before = [0] * len(sizes)
    for size, dim in zip(sizes, order, strict=True):
        before[dim] = size
    return Sizes(before)


def without(tensor: Value, dim: Value) -> Value:
    """Remove one dimension."""
    sizes = sizes_of(tensor)
    if len(sizes) == 0:
        raise IllegalSizesError("there is no dimension to select from")
    axis = axis_of(dim, len(sizes))
    return Sizes(sizes[:axis] + sizes[axis + 1 :])


def resized(tensor: Value, dim: Value, size: Value) -> Value:
    """Replace the size of one dimension."""
    sizes = sizes_of(tensor)
    axis = axis_of(dim, len(sizes))
    return with_size(sizes, axis, whole_number(size)) if len(sizes) else sizes


def ending(tensor: Value, sizes: Value) -> Value:
    """Replace the last sizes."""
    own, last_sizes = sizes_of(tensor), numbers_of(sizes)
    if len(last_sizes) >= len(own):
        raise IllegalSizesError(f"{shown(own)} does not have {len(last_sizes)} dimensions after its channels")
    return Sizes((*own[: len(own) - len(last_sizes)], *last_sizes))


def sliced(tensor: Value, dim: Value, start: Value, end: Value, step: Value) -> Value:
    """Slice one dimension."""
    sizes = sizes_of(tensor)
    axis = axis_of(dim, len(sizes))
    if len(sizes) == 0:
        raise IllegalSizesError("there is no dimension to slice")
    size, every = sizes[axis], 1 if step is None else whole_number(step)
    first = _bounded(start, size, 0)
    last = max(first, _bounded(end, size, size))
    return with_size(sizes, axis, -((first - last) // every))


def _bounded(index: Value, size: int, absent: int) -> int:
    if index is None:
        return absent
    whole = whole_number(index)
    return min(max(whole + size if whole < 0 else whole, 0), size)


def diagonal(tensor: Value, offset: Value = 0, one: Value = 0, other: Value = 1) -> Value:
    """The diagonal of two dimensions, as the last dimension."""
    sizes = sizes_of(tensor)
    first, second = axis_of(one, len(sizes)), axis_of(other, len(sizes))
    if first == second:
        raise IllegalSizesError(f"{shown(sizes)} has one dimension where two make a diagonal")
    shift = whole_number(offset)
    length = min(sizes[first], sizes[second] - shift) if shift >= 0 else min(sizes[first] + shift, sizes[second])
    return Sizes((*(size for at, size in enumerate(sizes) if at not in (first, second)), max(length, 0)))


def diagonal_embedded(tensor: Value, offset: Value = 0, one: Value = -2, other: Value = -1) -> Value:
    """Embed the last dimension as the diagonal of two dimensions."""
    sizes = sizes_of(tensor)
    if len(sizes) == 0:
        raise IllegalSizesError("a number has no dimension to put on a diagonal")
    rank = len(sizes) + 1
    side = sizes[-1] + abs(whole_number(offset))
    axes = {axis_of(one, rank), axis_of(other, rank)}
    rest = iter(sizes)
    return Sizes(side if at in axes else next(rest) for at in range(rank))


def unfolded(tensor: Value, dim: Value, size: Value, step: Value) -> Value:
    """Move the windows of one dimension to a new last dimension."""
    sizes = sizes_of(tensor)
    axis, width = axis_of(dim, len(sizes)), whole_number(size)
    own = sizes[axis] if len(sizes) else 1
    if width > own:
        raise IllegalSizesError(f"a window of {width} is larger than {own}")
    count = (own - width) // whole_number(step) + 1
    return Sizes((*with_size(sizes, axis, count), width)) if len(sizes) else Sizes((width,))


def flattened(tensor: Value, start: Value = 0, end: Value = -1) -> Value:
    """Merge several dimensions."""
    sizes = sizes_of(tensor)
    first, last = axis_of(start, len(sizes)), axis_of(end, len(sizes))
    if len(sizes) == 0:
        return Sizes((1,))
    return Sizes((*sizes[:first], math.prod(sizes[first : last + 1]), *sizes[last + 1 :]))


def unflattened(tensor: Value, dim: Value, parts: Value) -> Value:
    """Split one dimension into several."""
    sizes = sizes_of(tensor)
    axis = axis_of(dim, len(sizes))
    return Sizes((*sizes[:axis], *reshaped(Sizes((sizes[axis],)), parts), *sizes[axis + 1 :]))


def repeated(tensor: Value, repeats: Value) -> Value:
    """Repeat each dimension."""
    sizes, times = sizes_of(tensor), numbers_of(repeats)
    if len(times) < len(sizes):
        raise IllegalSizesError(f"{shown(sizes)} has more dimensions than {len(times)}")
    own = (1,) * (len(times) - len(sizes)) + tuple(sizes)
    return Sizes(size * time for size, time in zip(own, times, strict=True))


def leading(tensor: Value, count: Value) -> Value:
    """The first dimensions; a negative count drops dimensions from the end."""
    sizes = sizes_of(tensor)
    if len(sizes) < abs(whole_number(count)):
        raise IllegalSizesError(f"{shown(sizes)} has fewer than {abs(count)} dimensions")
    return Sizes(sizes[:count])


# ---- products


def matrix(tensor: Value) -> Value:
    """The tensor, which must be a matrix or a batch of matrices."""
    sizes = sizes_of(tensor)
    if len(sizes) < 2:
        raise IllegalSizesError(f"{shown(sizes)} is not a matrix")
    return sizes


def square(tensor: Value) -> Value:
    """The tensor, which must be a square matrix or a batch of square matrices."""
    sizes = sizes_of(matrix(tensor))
    if sizes[-1] != sizes[-2]:
        raise IllegalSizesError(f"{shown(sizes)} is not square")
    return sizes


def product(left: Value, right: Value) -> Value:
    """The matrix product of two matrices, or of two batches of equal size."""
    first, second = sizes_of(left), sizes_of(right)
    if first[-1] != second[-2] or first[:-2] != second[:-2]:
        raise IllegalSizesError(f"{shown(first)} and {shown(second)} cannot be multiplied")
    return Sizes((*first[:-1], second[-1]))


def matmul(left: Value, right: Value) -> Value:
    """The product of matrices, vectors or broadcast batches, as ``torch.matmul``."""
    left_sizes, right_sizes = sizes_of(left), sizes_of(right)
    if len(left_sizes) == 0 or len(right_sizes) == 0:
        raise IllegalSizesError("a number has no product of matrices")
    row, column = len(left_sizes) == 1, len(right_sizes) == 1
    first = Sizes((1, *left_sizes)) if row else left_sizes
    second = Sizes((*right_sizes, 1)) if column else right_sizes
    if first[-1] != second[-2]:
        raise IllegalSizesError(f"{shown(left_sizes)} and {shown(right_sizes)} cannot be multiplied")
    batch = _broadcast(Sizes(first[:-2]), Sizes(second[:-2]))
    return Sizes((*batch, *(() if row else (first[-2],)), *(() if column else (second[-1],))))


def kron(left: Value, right: Value) -> Value:
    """The Kronecker product."""
    left_sizes, right_sizes = sizes_of(left), sizes_of(right)
    rank = max(len(left_sizes), len(right_sizes))
    return Sizes(
        a * b
        for a, b in zip(
            (1,) * (rank - len(left_sizes)) + tuple(left_sizes),
            (1,) * (rank - len(right_sizes)) + tuple(right_sizes),
            strict=True,
        )
    )


# ---- lists


def joined(tensors: Value, dim: Value = 0) -> Value:
    """Concatenate tensors; empty vectors are ignored."""
    items = [sizes_of(item) for item in tensors]
    non_empty = [item for item in items if item != (0,)]
    if not non_empty:
        return Sizes((0,))
    first = non_empty[0]
    if len(first) == 0:
        raise IllegalSizesError("numbers cannot be joined")
    axis = axis_of(dim, len(first))
    for item in non_empty:
        if len(item) != len(first) or with_size(item, axis, 0) != with_size(first, axis, 0):
            raise IllegalSizesError(f"{shown(first)} and {shown(item)} cannot be joined along dimension {axis}")
    return with_size(first, axis, sum(item[axis] for item in non_empty))


def stacked(tensors: Value, dim: Value = 0) -> Value:
    """Stack tensors of equal sizes."""
    first = sizes_of(same(*tensors))
    axis = axis_of(dim, len(first) + 1)
    return Sizes((*first[:axis], len(tensors), *first[axis:]))


def split(tensor: Value, size: Value, dim: Value = 0) -> Value:
    """Split into parts of equal size, the last possibly smaller, or of specified sizes."""
    sizes = sizes_of(tensor)
    axis = axis_of(dim, len(sizes))
    if len(sizes) == 0:
        raise IllegalSizesError("a number cannot be split")
    parts = size if type(size) is tuple else _parts(sizes[axis], whole_number(size))
    if sum(parts) != sizes[axis]:
        raise IllegalSizesError(f"{shown(parts)} do not add up to {sizes[axis]}")
    return tuple(with_size(sizes, axis, part) for part in parts)


def _parts(whole: int, size: int) -> tuple[int, ...]:
    if size <= 0:
        raise SizesError
    bounded(whole // size)
    return tuple(min(size, whole - start) for start in range(0, max(whole, 1), size))


def chunked(tensor: Value, chunks: Value, dim: Value = 0) -> Value:
    """Split into at most ``chunks`` parts of equal size."""
    sizes = sizes_of(tensor)
    whole = sizes[axis_of(dim, len(sizes))]
    return split(sizes, max(-(-whole // whole_number(chunks)), 1), dim)


def unbound(tensor: Value, dim: Value = 0) -> Value:
    """The slices of one dimension."""
    sizes = sizes_of(tensor)
    return (without(sizes, dim),) * bounded(sizes[axis_of(dim, len(sizes))])


def each_sized(sizes: Value) -> Value:
    """A list of tensors with these sizes."""
    return tuple(map(sized, sizes))


def diagonal_blocks(tensors: Value) -> Value:
    """Matrices on the diagonal of a larger one."""
    rows = columns = 0
    for block in tensors:
        sizes = (1,) * (2 - len(sizes_of(block))) + tuple(block)
        rows, columns = rows + sizes[0], columns + sizes[1]
    return Sizes((rows, columns))


def picked(tensor: Value, indices: Value) -> Value:
    """Index with one integer tensor per dimension; absent ones select all."""
    sizes = sizes_of(tensor)
    index_sizes = [index if type(index) is Sizes else None for index in indices]
    if len(index_sizes) > len(sizes):
        raise IllegalSizesError(f"{len(index_sizes)} indices for {len(sizes)} dimensions")
    at = [position for position, index in enumerate(index_sizes) if index is not None]
    if not at:
        return sizes
    index_shape = broadcast(*(index for index in index_sizes if index is not None))
    rest = [size for position, size in enumerate(sizes) if position not in at]
    together = at[-1] - at[0] + 1 == len(at)
    first = at[0] if together else 0
    return Sizes((*rest[:first], *index_shape, *rest[first:]))


def indexed(tensor: Value, dim: Value, index: Value, source: Value = None) -> Value:
    """The sizes of ``index``, which outside of ``dim`` must not exceed the tensor's, and nowhere the source's."""
    own, places = sizes_of(tensor), sizes_of(index)
    if 0 in places:
        return places
    axis = axis_of(dim, len(own))
    whole, index_sizes = tuple(own) or (1,), tuple(places) or (1,)
    if len(whole) != len(index_sizes):
        raise IllegalSizesError(f"{shown(places)} does not have the {len(own)} dimensions of {shown(own)}")
    if any(size > whole[at] for at, size in enumerate(index_sizes) if at != axis):
        raise IllegalSizesError(f"the index {shown(places)} is larger than {shown(own)} beside dimension {axis}")
    if type(source) is Sizes:
        source_sizes = tuple(source) or (1,)
        if len(source_sizes) != len(index_sizes) or any(size > source_sizes[at] for at, size in enumerate(index_sizes)):
            raise IllegalSizesError(f"the index {shown(places)} is larger than the source {shown(source)}")
    return places


def kept(mask: Value, *items: Value) -> Value:
    """Several values, some masked out."""
    return tuple(item if flag else None for flag, item in zip(mask, items, strict=True))


def checked(value: Value, *_: Value) -> Value:
    """The first value; the others only raise if they are invalid."""
    return value


# ---- primitives of definitions


def halves(tensor: Value, dim: Value) -> Value:
    """The first and the second half."""
    sizes = sizes_of(tensor)
    axis = axis_of(dim, len(sizes))
    if len(sizes) == 0 or sizes[axis] % 2:
        raise IllegalSizesError(f"dimension {axis} of {shown(sizes)} does not have two halves")
    half = with_size(sizes, axis, sizes[axis] // 2)
    return half, half


def other_dims(tensor: Value, dim: Value) -> Value:
    """All dimensions but one."""
    sizes = sizes_of(tensor)
    axis = axis_of(dim, len(sizes))
    return tuple(at for at in range(len(sizes)) if at != axis)


def by_channel(values: Value, tensor: Value) -> Value:
    """One value for each channel."""
    return None if values is None else Sizes((1, math.prod(sizes_of(values)), *[1] * (len(sizes_of(tensor)) - 2)))


def is_vector(coefficients: Value, other: Value) -> Value:
    """Whether the right-hand side of a system is a vector or a batch of vectors."""
    left, right = sizes_of(coefficients), sizes_of(other)
    return len(right) == 1 or (len(left) - 1 == len(right) and right == left[:-1])


def count(sizes: Value, dims: Value, numel: Value) -> Value:
    """The number of elements in some dimensions."""
    if dims is None or dims == ():
        return numel
    return math.prod(sizes[axis_of(dim, len(sizes))] for dim in numbers_of(dims)) if sizes else 1


def size(held: Value, dim: Value = None) -> Value:
    """The size of one dimension of a tensor, or the length of a list."""
    if type(held) is not Sizes:
        return len(held)
    if dim is None:
        return tuple(held)
    if len(held) == 0:
        raise IllegalSizesError("a number has no dimension to ask for its size")
    return held[axis_of(dim, len(held))]


def filled(sizes: Value) -> Value:
    """A tensor with these sizes, or with those of a tensor."""
    return sizes if type(sizes) is Sizes else sized(sizes)


def numel(tensor: Value) -> Value:
    """The number of elements."""
    return math.prod(sizes_of(tensor))


def rank(tensor: Value) -> Value:
    """The number of dimensions."""
    return len(sizes_of(tensor))


def broadcast_matrices(left: Value, right: Value) -> Value:
    """The second of two batches of matrices, with the broadcast batch dimensions."""
    first, second = sizes_of(matrix(left)), sizes_of(matrix(right))
    return Sizes((*_broadcast(Sizes(first[:-2]), Sizes(second[:-2])), *second[-2:]))
