"""Helpers that formulas use like keywords, and methods that have the same meaning wherever they are called."""

from __future__ import annotations

from derivlint.formula.vocabulary import words

#: Raises where a derivative is asked for that no one has written.
NOT_IMPLEMENTED = "not_implemented"
#: What raises, for one tensor and for a list.
RAISING = frozenset({NOT_IMPLEMENTED, "not_implemented_list"})
#: Saves a tensor where another gradient needs it.
WRAP_OPT_IF = "wrap_opt_if"
#: The real part of a gradient, where its tensor is real; the second of its arguments is the gradient.
REAL_FROM_COMPLEX = "handle_r_to_c"
#: An optional tensor as one that may be undefined.
TO_TENSOR = "toNonOptTensor"
#: Chooses elements by a condition.
WHERE = "where"
#: Methods and operators that return their tensor, or its number, without a history.
CUTTING = words("data detach item variable_data")
#: Methods that tell something about a tensor and nothing of its value, wherever types are not known.
METADATA_MEMBERS = words("""
    sizes sym_sizes size sym_size strides sym_strides stride sym_stride dim ndimension numel sym_numel options
    scalar_type dtype device layout is_complex is_floating_point is_contiguous suggest_memory_format defined has_value
    requires_grad is_cuda is_sparse is_mkldnn is_quantized is_nested get_device is_conj is_neg sparse_dim dense_dim
    _nnz _nested_tensor_size _nested_tensor_strides is_same_size storage_offset sym_storage_offset names key_set
""")
