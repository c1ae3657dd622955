"""What definitions are made of in addition to operators: functions that every interpreter has on its own.

``shape`` stands for whatever says how large a tensor is, and ``options`` for its scalar type and where it lies.
"""

from __future__ import annotations

from collections.abc import Mapping

#: The primitives, each with what it gives.
PRIMITIVES: Mapping[str, str] = {
    "handle_r_to_c": "(scalar type, gradient) the gradient; its real part where the scalar type is real",
    "unreduced": "(reduced, dims, keepdim, rank) what was reduced, with size one where dims were; all of them if empty",
    "count": "(sizes, dims, numel) how many elements dims take together",
    "sum_over": "(tensor, dims, keepdim) the sum; over all dims where none are named",
    "mean_over": "(tensor, dims) the mean with the dims kept; over all of them where none are named",
    "halves": "(tensor, dim) its first and its second half",
    "products_of_others": "(tensor, dim) along a dimension, the products of all elements but each",
    "other_dims": "(tensor, dim) all dims but one",
    "last_dims": "(sizes) as many dims as there are sizes, counted from the end",
    "freedom": "(count, correction) how many degrees of freedom are left, zero where there are none",
    "by_channel": "(values, tensor) one value for each channel, in a shape that can be broadcast to the tensor's",
    "is_vector": "(matrix, other) whether the right side of a system is a vector, or a batch of them",
    "only": "(dims) the one item of a list",
    "last_given": "(first, second) the second, the first where there is no second",
    "zeros": "(sizes, options) a tensor of zeros",
    "full": "(sizes, value, options) a tensor of one value",
    "nan_like": "(tensor) not a number, in the same shape",
    "make_tuple": "(items) several values",
    "refuse": "(anything) nothing: the case is not supported",
    "is_number": "(value) whether it is a number and not a tensor",
    "is_complex_tensor": "(tensor) whether it is complex",
    "defined": "(value) whether it is there",
    "value_or": "(value, other) the value, the other one where it is not there",
    "equal": "(value, number) whether they are equal",
    "conj": "(value) the complex conjugate",
    "sizes": "(tensor) its sizes",
    "numel": "(tensor) the number of its elements",
    "dim": "(tensor) the number of its dimensions",
    "scalar_type": "(tensor) its scalar type",
    "options": "(tensor) its options",
}
