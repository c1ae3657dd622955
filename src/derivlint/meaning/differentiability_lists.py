"""What is known of single operators and helpers beside their schemas and entries: facts of PyTorch 2.13.

Tests compare the lists of operators with the installed torch. Names of operators have their overloads.
"""

from __future__ import annotations

from derivlint.formula.vocabulary import words

#: Helpers of FunctionsManual.cpp that cannot be differentiated again although they are made of ATen, and why: the
#: others are written so that they can. Both scale the gradient that the forward call has computed already, an output
#: that is declared non-differentiable, so that a second derivative for the input would be wrong.
HELPERS_THAT_END = {
    "_cudnn_ctc_loss_backward": "scales a gradient that was computed in the forward call",
    "_miopen_ctc_loss_backward": "scales a gradient that was computed in the forward call",
}

#: Base names of operators without an entry that return integers, or what a nested tensor is made up of.
INTEGRAL = words("""
    _nested_get_offsets _nested_get_lengths _nested_get_jagged_dummy _nested_get_min_seqlen _nested_get_max_seqlen
""")

#: Operators without a forward formula that PyTorch decomposes when they are called with a tangent
#: (torch/_decomp/decompositions_for_jvp.py; ``try_jit_decomposition`` in gen_variable_type.py).
DECOMPOSED_FOR_TANGENTS = words("""
    _log_softmax_backward_data _softmax_backward_data batch_norm_backward cudnn_batch_norm_backward log_sigmoid_forward
    miopen_batch_norm_backward native_batch_norm_backward native_layer_norm_backward nll_loss2d_backward
    nll_loss_backward trace
""")

#: Backward operators for which PyTorch's derivatives.yaml has no entry. A file that is a part of it, or that belongs to
#: a back end, does not show that.
BACKWARDS_WITHOUT_DERIVATIVE = words("""
    _ctc_loss_backward _ctc_loss_backward.Tensor _cudnn_attention_backward _efficient_attention_backward
    _embedding_bag_per_sample_weights_backward _fake_quantize_learnable_per_channel_affine_backward
    _fake_quantize_learnable_per_tensor_affine_backward _flash_attention_backward _fused_rms_norm_backward
    _masked_softmax_backward _nested_select_backward _nested_sum_backward
    _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention_backward
    _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward
    _scaled_dot_product_fused_attention_overrideable_backward _segment_reduce_backward
    _sparse_log_softmax_backward_data _sparse_mm_reduce_impl_backward _sparse_softmax_backward_data
    _sparse_sum_backward _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell_backward_impl
    _weight_norm_interface_backward batch_norm_backward_elemt batch_norm_backward_reduce
    cudnn_affine_grid_generator_backward glu_backward_jvp hardsigmoid_backward logit_backward matmul_backward
    mish_backward mkldnn_adaptive_avg_pool2d_backward mkldnn_linear_backward mkldnn_linear_backward_input
    mkldnn_linear_backward_weights mkldnn_max_pool2d_backward mkldnn_max_pool3d_backward
    mps_convolution_transpose_backward multi_margin_loss_backward multilabel_margin_loss_backward
    native_group_norm_backward silu_backward
""")
