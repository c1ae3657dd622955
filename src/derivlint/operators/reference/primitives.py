"""Primitives: the functions that definitions may call and every interpreter implements.

``sizes`` is any representation of a tensor's sizes, and ``options`` its scalar type and device.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

#: The interpreters: scalar evaluation, PyTorch tensors, graphs.
NUMBERS, TENSORS, GRAPHS = "numbers", "tensors", "graphs"
EVERYWHERE = (NUMBERS, TENSORS, GRAPHS)


class PrimitiveFact(Struct, frozen=True):
    """A primitive.

    Attributes:
        gives: a description of its result.
        interpreters: the interpreters that implement it; others refuse definitions that call it.
        example: an expression that calls it, over a matrix ``x``.
    """

    gives: str
    example: str
    interpreters: tuple[str, ...] = EVERYWHERE


#: The primitives by name.
PRIMITIVES: Mapping[str, PrimitiveFact] = {
    "handle_r_to_c": PrimitiveFact(
        "(scalar type, gradient) the gradient; its real part where the scalar type is real",
        "handle_r_to_c(x.scalar_type(), x)",
    ),
    "unreduced": PrimitiveFact(
        "(reduced, dims, keepdim, rank) what was reduced, with size one where dims were; all of them if empty",
        "unreduced(x.sum({0}), {0}, false, 2)",
    ),
    "count": PrimitiveFact(
        "(sizes, dims, numel) how many elements dims take together", "x * count(x.sizes(), {1}, x.numel())"
    ),
    "sum_over": PrimitiveFact(
        "(tensor, dims, keepdim) the sum; over all dims where none are named", "sum_over(x, {1}, true)"
    ),
    "mean_over": PrimitiveFact(
        "(tensor, dims) the mean with the dims kept; over all of them where none are named", "mean_over(x, {0})"
    ),
    "sum_to": PrimitiveFact("(tensor, sizes) the sum of what was broadcast from these sizes", "sum_to(x, {1, 1})"),
    "halves": PrimitiveFact(
        "(tensor, dim) its first and its second half", "std::get<1>(halves(x, 1))", (TENSORS, GRAPHS)
    ),
    "products_of_others": PrimitiveFact(
        "(tensor, dim) along a dimension, the products of all elements but each", "products_of_others(x, 1)"
    ),
    "other_dims": PrimitiveFact("(tensor, dim) all dims but one", "sum_over(x, other_dims(x, 0), true)"),
    "last_dims": PrimitiveFact(
        "(sizes) as many dims as there are sizes, counted from the end", "mean_over(x, last_dims({1}))"
    ),
    "freedom": PrimitiveFact(
        "(count, correction) how many degrees of freedom are left, zero where there are none", "x * freedom(3, 1)"
    ),
    "by_channel": PrimitiveFact(
        "(values, tensor) one value for each channel, in a shape that can be broadcast to the tensor's",
        "by_channel(x.sum({0}), x)",
    ),
    "is_vector": PrimitiveFact(
        "(matrix, other) whether the right side of a system is a vector, or a batch of them",
        "is_vector(x, x) ? -x : x",
    ),
    "only": PrimitiveFact("(dims) the one item of a list", "x * only({3})"),
    "last_given": PrimitiveFact(
        "(first, second) the second, the first where there is no second", "last_given(x, nullopt)"
    ),
    "zeros": PrimitiveFact("(sizes, options) a tensor of zeros", "x + at::zeros({1}, x.options())"),
    "full": PrimitiveFact("(sizes, value, options) a tensor of one value", "x + at::full({1}, 2.5, x.options())"),
    "eye": PrimitiveFact("(rows, columns, options) an identity", "x + at::eye(x.size(0), x.size(1), x.options())"),
    "zeros_like": PrimitiveFact("(tensor, options) zeros in the same shape", "zeros_like(x)"),
    "nan_like": PrimitiveFact("(tensor) not a number, in the same shape", "nan_like(x)"),
    "make_tuple": PrimitiveFact("(items) several values", "std::get<1>(make_tuple(x, -x))"),
    "Tensor": PrimitiveFact("() a tensor that is not there", "Tensor().defined() ? -x : x"),
    "refuse": PrimitiveFact("(anything) nothing: the case is not supported", "true ? x : refuse(x)"),
    "is_number": PrimitiveFact("(value) whether it is a number and not a tensor", "is_number(x) ? -x : x"),
    "is_complex_tensor": PrimitiveFact("(tensor) whether it is complex", "is_complex_tensor(x) ? -x : x"),
    "defined": PrimitiveFact("(value) whether it is there", "x.defined() ? -x : x"),
    "value_or": PrimitiveFact("(value, other) the value, the other one where it is not there", "x.value_or(-x)"),
    "equal": PrimitiveFact("(value, number) whether they are equal", "x.dim().equal(7) ? -x : x"),
    "conj": PrimitiveFact("(value) the complex conjugate", "x.conj()"),
    "to": PrimitiveFact("(tensor, scalar type or options) the tensor in another type", "(x > 0).to(x.scalar_type())"),
    "sizes": PrimitiveFact("(tensor) its sizes", "x.expand(x.sizes())"),
    "size": PrimitiveFact("(tensor, dim) one of its sizes", "x * x.size(1)"),
    "numel": PrimitiveFact("(tensor) the number of its elements", "x * x.numel()"),
    "dim": PrimitiveFact("(tensor) the number of its dimensions", "x * (x.dim() - x.dim() + 1)"),
    "scalar_type": PrimitiveFact("(tensor) its scalar type", "handle_r_to_c(x.scalar_type(), x)"),
    "options": PrimitiveFact("(tensor) its options", "x + at::full({}, 1.5, x.options())"),
}
