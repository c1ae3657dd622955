"""Facts about single operators that stand in PyTorch's generator and not in its YAML files (gen_variable_type.py)."""

from __future__ import annotations

from derivlint.formula.vocabulary import words

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
