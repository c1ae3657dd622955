"""Facts about single operators that stand in PyTorch's generator and not in its YAML files (gen_variable_type.py)."""

from __future__ import annotations

from derivlint.formula.vocabulary import words
from derivlint.meaning.complex_operators import COMPLEX_OPERATORS

#: Operators that put new storage into ``self``, which invalidates what accumulates its gradient.
RESET_GRAD_ACCUMULATOR = words("resize_ set_")

#: C++ names, with the overload behind an underscore, of operators that have a kernel of their own although no entry
#: applies to them: PyTorch leaves out checks there that its generic kernel makes.
WITHOUT_GENERIC_KERNEL = words("""
    _cudnn_rnn _cudnn_rnn_backward _cudnn_rnn_flatten_weight _embedding_bag _embedding_bag_forward_only
    _nested_tensor_size _nested_tensor_storage_offsets _nested_tensor_strides _slow_conv2d_forward
    _unsafe_masked_index _unsafe_masked_index_put_accumulate channel_shuffle dequantize_self lift lift_fresh
    lift_fresh_copy lu_unpack q_per_channel_scales q_per_channel_zero_points set_ slow_conv3d_forward
""")

#: Base names of operators by the release that was the first one to take their gradients for right with complex numbers;
#: not those that were taken so in 2.1 already.
COMPLEX_SINCE = {
    (2, 2): words("masked_scatter_backward"),
    (2, 5): words("""
        _unsafe_index _unsafe_index_put _unsafe_masked_index _unsafe_masked_index_put_accumulate alias_copy
        as_strided_copy channel_shuffle expand_copy logsumexp t_copy unsqueeze_copy view_copy
    """),
    (2, 6): words("permute_copy squeeze_copy transpose_copy"),
    (2, 7): words("unbind_copy"),
    (2, 11): words("ldexp"),
    (2, 12): words("linear narrow_copy"),
    (2, 14): words("linalg_matrix_sqrth linalg_polar"),
}
_SINCE = {name: release for release, names in COMPLEX_SINCE.items() for name in names}


def refuses_complex(base: str, number: tuple[int, int]) -> bool:
    """Whether the kernel of an operator refuses complex outputs that require a gradient.

    Args:
        base: the base name of the operator.
        number: the release, as major and minor version.
    """
    since = _SINCE.get(base)
    return base not in COMPLEX_OPERATORS if since is None else number < since
