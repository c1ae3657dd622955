"""Helper functions of formulas that cannot be expressed as single expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from derivlint.graph.builder import Builder, Item, TensorOptions
from derivlint.graph.ir import GraphValue
from derivlint.graph.types import GraphError


def handle_r_to_c(builder: Builder, scalar_type: Item, grad: Item) -> Item:
    """Take the real part of a complex gradient if the input is real."""
    of: Item = scalar_type
    if isinstance(of, GraphValue) and of.node is not None and of.node.kind == "prim::dtype":
        of = of.node.inputs[0]
    if isinstance(grad, GraphValue) and grad.type.is_complex and isinstance(of, GraphValue) and not of.type.is_complex:
        return builder.call("real", [grad])
    return grad


def _dimensions(dims: Item) -> list[int] | None:
    """The reduced dimensions, or None if all are.

    Raises:
        GraphError: they are not constant.
    """
    if dims is None or dims == []:
        return None
    dimensions = dims if isinstance(dims, list) else [dims]
    constant = [dim for dim in dimensions if isinstance(dim, int)]
    if len(constant) != len(dimensions):
        raise GraphError("the dimensions are not constant")
    return constant


def unreduced(builder: Builder, reduced: Item, dims: Item, keepdim: Item = None, rank: Item = None) -> Item:
    """Restore reduced dimensions, each with size one."""
    reduced_dims = _dimensions(dims)
    if keepdim is True or reduced_dims is None:
        return reduced
    if isinstance(keepdim, GraphValue):
        raise GraphError("keepdim is not constant")
    if isinstance(rank, int):
        reduced_dims = [dim % rank if rank else dim for dim in reduced_dims]
    if rank == 0:
        return reduced
    if min(reduced_dims) < 0 <= max(reduced_dims):
        raise GraphError("dimensions are counted from both ends")
    # from the outermost dimension inwards: each index counts the restored dimensions
    for dim in sorted(reduced_dims, key=abs):
        reduced = builder.call("unsqueeze", [reduced, dim])
    return reduced


def count(builder: Builder, sizes: Item, dims: Item, numel: Item) -> Item:
    """The number of reduced elements."""
    reduced_dims = _dimensions(dims)
    if reduced_dims is None:
        return numel
    total: Item = 1
    for number, dim in enumerate(reduced_dims):
        size = builder.size(sizes, dim)
        total = size if number == 0 else builder.binary("*", total, size)
    return total


def mean_over(builder: Builder, tensor: Item, dims: Item) -> Item:
    """The mean over dimensions, by default all, which are kept."""
    reduced_dims = _dimensions(dims)
    return builder.call("mean", [tensor] if reduced_dims is None else [tensor, list(reduced_dims), True])


def sum_over(builder: Builder, tensor: Item, dims: Item, keepdim: Item = None) -> Item:
    """The sum, by default over all dimensions."""
    reduced_dims = _dimensions(dims)
    if reduced_dims is None and keepdim is not True:
        return builder.call("sum", [tensor])
    return builder.call("sum", [tensor, [] if reduced_dims is None else list(reduced_dims), keepdim is True])


def halves(builder: Builder, tensor: Item, dim: Item) -> Item:
    """The first and the second half of a tensor."""
    half = builder.binary("/", builder.size(builder.sizes(builder.value(tensor)), dim), 2)
    return [builder.call("narrow", [tensor, dim, start, half]) for start in (0, half)]


def products_of_others(builder: Builder, tensor: Item, dim: Item) -> Item:
    """The product of all other elements along a dimension: of those before, times those after each element."""
    size = builder.binary("-", builder.size(builder.sizes(builder.value(tensor)), dim), 1)
    ones = builder.call("ones_like", [builder.call("narrow", [tensor, dim, 0, 1])])
    before = builder.call("narrow", [tensor, dim, 0, size])
    after = builder.call("flip", [builder.call("narrow", [tensor, dim, 1, size]), [dim]])
    product_before, product_after = (
        builder.call("cumprod", [builder.call("cat", [[ones, part], dim]), dim]) for part in (before, after)
    )
    return builder.call("mul", [product_before, builder.call("flip", [product_after, [dim]])])


def other_dims(builder: Builder, tensor: Item, dim: Item) -> Item:
    """All dimensions but one."""
    rank = _rank(builder, tensor)
    if not isinstance(dim, int):
        raise GraphError("the dimensions are not constant")
    return [position for position in range(rank) if position != dim % rank]


def _rank(builder: Builder, tensor: Item) -> int:
    rank = builder.rank(tensor) if isinstance(tensor, GraphValue) else None
    if not isinstance(rank, int):
        raise GraphError("the number of dimensions is not known")
    return rank


def last_dims(builder: Builder, sizes: Item) -> Item:
    """One dimension for each size, counted from the end."""
    if not isinstance(sizes, list):
        raise GraphError("the number of dimensions is not known")
    return list(range(-len(sizes), 0))


def freedom(builder: Builder, number: Item, correction: Item) -> Item:
    """The degrees of freedom, assumed to be positive if they are not constant."""
    degrees = builder.binary("-", number, correction)
    return max(0, degrees) if isinstance(degrees, (int, float)) else degrees


def by_channel(builder: Builder, values: Item, tensor: Item) -> Item:
    """Reshape one value per channel for broadcasting."""
    if values is None:
        return None
    return builder.call("reshape", [values, [1, -1, *[1] * (_rank(builder, tensor) - 2)]])


def is_vector(builder: Builder, matrix: Item, right_side: Item) -> Item:
    """Whether the right-hand side of a system is a vector or a batch of vectors."""
    rank = _rank(builder, right_side)
    if rank == 1 or _rank(builder, matrix) - 1 != rank:
        return rank == 1
    rows, size = (
        builder.sizes(operand) if isinstance(operand, GraphValue) else None for operand in (matrix, right_side)
    )
    if not isinstance(rows, list) or not isinstance(size, list):
        raise GraphError("the sizes are not known")
    return rows[:-1] == size


def only(builder: Builder, items: Item) -> Item:
    """The only item of a list."""
    if isinstance(items, list) and len(items) == 1:
        return items[0]
    if isinstance(items, int):
        return items
    raise GraphError("there is more than one dimension")


def last_given(builder: Builder, first: Item, second: Item = None) -> Item:
    """The sizes in ``unsqueeze_to(grad, [dims,] sizes)``."""
    return first if second is None else second


def zeros_like(builder: Builder, tensor: Item, *_options: Item) -> Item:
    """Zeros of the same shape."""
    return builder.call("zeros_like", [tensor])


def at_zeros(builder: Builder, sizes: Item, options: Item = None) -> Item:
    """Zeros of a shape, with the options of a tensor."""
    return builder.call("new_zeros", [options.of, sizes]) if isinstance(options, TensorOptions) else _needs_options()


def full(builder: Builder, sizes: Item, value: Item, options: Item = None) -> Item:
    """A tensor of one value, with the options of a tensor."""
    if not isinstance(options, TensorOptions):
        return _needs_options()
    return builder.call("new_full", [options.of, sizes, value])


def ones(builder: Builder, sizes: Item, options: Item = None) -> Item:
    """Ones of a shape, with the options of a tensor."""
    return full(builder, sizes, 1, options)


def scalar_tensor(builder: Builder, value: Item, options: Item = None) -> Item:
    """A tensor without dimensions."""
    return full(builder, [], value, options)


def _needs_options() -> Item:
    raise GraphError("a new tensor has options that are not known")


def nan_like(builder: Builder, tensor: Item) -> Item:
    """NaN in the same shape."""
    return builder.call("full_like", [tensor, float("nan")])


def make_tuple(builder: Builder, *items: Item) -> Item:
    """Collect gradients in a list."""
    return list(items)


def refuse(builder: Builder, *_items: Item) -> Item:
    """Refuse a case that graphs do not support."""
    raise GraphError("this case is not supported in graphs")


def is_number(builder: Builder, item: Item) -> Item:
    """Whether the item is not a tensor."""
    return not (isinstance(item, GraphValue) and item.type.is_tensor)


def is_complex_tensor(builder: Builder, item: Item) -> Item:
    """Whether the item is a complex tensor."""
    return isinstance(item, GraphValue) and item.type.is_complex


def _offsets(builder: Builder, sizes: Sequence[Item]) -> list[Item]:
    offsets: list[Item] = []
    offset: Item = 0
    for size in sizes:
        offsets.append(offset)
        offset = builder.binary("+", offset, size)
    return offsets


def cat_tensors_backward(builder: Builder, grad: Item, sizes: Item, _types: Item, dim: Item) -> Item:
    """Split a gradient into those of the joined tensors."""
    if not isinstance(sizes, list):
        raise GraphError("the sizes of the tensors that were joined are not known")
    lengths = [builder.size(size, dim) for size in sizes]
    return [
        builder.call("narrow", [grad, dim, offset, length])
        for offset, length in zip(_offsets(builder, lengths), lengths, strict=True)
    ]


def to_args_sizes(builder: Builder, tensors: Item) -> Item:
    """The sizes of each tensor of a list."""
    if not isinstance(tensors, list):
        raise GraphError("the tensors of the list are not known")
    return [builder.sizes(tensor) for tensor in tensors if isinstance(tensor, GraphValue)]


def to_args_scalartypes(builder: Builder, tensors: Item) -> Item:
    """None in place of scalar types, which real graphs do not need."""
    return None


def sum_to(builder: Builder, tensor: Item, sizes: Item) -> Item:
    """The sum over broadcast dimensions."""
    value = builder.value(tensor)
    return builder.node("aten::_grad_sum_to_size", [value, builder.value(sizes)], [value.type]).output


def permute_backwards(builder: Builder, grad: Item, dims: Item) -> Item:
    """The inverse permutation."""
    permutation = _dimensions(dims)
    if permutation is None:
        return grad
    order = [dim % len(permutation) for dim in permutation]
    if len(set(order)) != len(order):
        raise GraphError("the dimensions are repeated")
    return builder.call("permute", [grad, [order.index(place) for place in range(len(order))]])


def constant_pad_nd_backward(builder: Builder, grad: Item, pad: Item) -> Item:
    """Pad with the opposite sign, which crops to the input."""
    if not isinstance(pad, list):
        raise GraphError("the padding is not constant")
    return builder.call("constant_pad_nd", [grad, [builder.negative(size) for size in pad]])


def square(builder: Builder, tensor: Item) -> Item:
    """The square."""
    return builder.call("mul", [tensor, tensor])


BUILT_IN: dict[str, Callable[..., Item]] = {
    "handle_r_to_c": handle_r_to_c,
    "unreduced": unreduced,
    "count": count,
    "mean_over": mean_over,
    "sum_over": sum_over,
    "halves": halves,
    "products_of_others": products_of_others,
    "other_dims": other_dims,
    "last_dims": last_dims,
    "freedom": freedom,
    "by_channel": by_channel,
    "is_vector": is_vector,
    "only": only,
    "last_given": last_given,
    "zeros_like": zeros_like,
    "zeros": at_zeros,
    "zeros_symint": at_zeros,
    "full": full,
    "ones": ones,
    "scalar_tensor": scalar_tensor,
    "nan_like": nan_like,
    "make_tuple": make_tuple,
    "refuse": refuse,
    "is_number": is_number,
    "is_complex_tensor": is_complex_tensor,
    "cat_tensors_backward": cat_tensors_backward,
    "to_args_sizes": to_args_sizes,
    "to_args_sizes_symint": to_args_sizes,
    "to_args_scalartypes": to_args_scalartypes,
    "constant_pad_nd_backward": constant_pad_nd_backward,
    "square": square,
    "sum_to": sum_to,
    "permute_backwards": permute_backwards,
}
