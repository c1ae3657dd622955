"""Operators that PyTorch's generator treats by name.

These lists are facts of PyTorch 2.13, read from torchgen; a test compares them with the installed torchgen. Names are
base names of operators unless a list says otherwise.
"""

from __future__ import annotations

#: Functions whose outputs never require a gradient (gen_variable_type.py).
DONT_REQUIRE_DERIVATIVE = frozenset(
    {
        "__and__",
        "__iand__",
        "__ilshift__",
        "__ior__",
        "__irshift__",
        "__ixor__",
        "__lshift__",
        "__or__",
        "__rshift__",
        "__xor__",
        "_coalesced_",
        "_nested_tensor_size",
        "_nested_tensor_storage_offsets",
        "_nested_tensor_strides",
        "_sobol_engine_draw",
        "_sobol_engine_ff",
        "_sobol_engine_initialize_state_",
        "_sobol_engine_scramble_",
        "allclose",
        "argmax",
        "argmin",
        "argsort",
        "bucketize",
        "empty_like",
        "full_like",
        "isin",
        "isinf",
        "isnan",
        "isneginf",
        "isposinf",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "new_empty",
        "new_empty_strided",
        "new_full",
        "new_ones",
        "new_zeros",
        "ones_like",
        "quantize_per_channel",
        "quantize_per_tensor",
        "rand_like",
        "randn_like",
        "record_stream",
        "searchsorted",
        "signbit",
        "zeros_like",
    }
)

#: C++ names of functions whose autograd kernels PyTorch writes by hand (gen_trace_type.py).
MANUAL_AUTOGRAD = frozenset(
    {
        "_backward",
        "_fw_primal",
        "_make_dual",
        "_version",
        "copy_",
        "data",
        "detach",
        "detach_",
        "is_leaf",
        "options",
        "output_nr",
        "requires_grad_",
        "resize_",
        "resize_as_",
        "retain_grad",
        "set_data",
    }
)

#: Functions whose generated kernel makes its output a view of an input (gen_inplace_or_view_type.py).
VIEWS = frozenset(
    {
        "_conj",
        "_indices",
        "_neg_view",
        "_nested_get_values",
        "_nested_view_from_buffer",
        "_nested_view_from_jagged",
        "_reshape_alias",
        "_test_autograd_multiple_dispatch_view",
        "_values",
        "alias",
        "as_strided",
        "ccol_indices",
        "col_indices",
        "crow_indices",
        "diagonal",
        "expand",
        "flatten",
        "indices",
        "numpy_T",
        "permute",
        "row_indices",
        "select",
        "slice",
        "slice_inverse",
        "sparse_coo_tensor_with_dims_and_tensors",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unbind",
        "unfold",
        "unsqueeze",
        "values",
        "view",
        "view_as_complex",
        "view_as_real",
    }
)

#: Views, and compositions of views that may return one (gen_inplace_or_view_type.py).
MAY_RETURN_VIEWS = frozenset(
    {
        "_conj",
        "_indices",
        "_neg_view",
        "_nested_get_values",
        "_nested_view_from_buffer",
        "_nested_view_from_jagged",
        "_reshape_alias",
        "_test_autograd_multiple_dispatch_view",
        "_values",
        "adjoint",
        "alias",
        "as_strided",
        "ccol_indices",
        "chunk",
        "col_indices",
        "contiguous",
        "crow_indices",
        "detach",
        "diagonal",
        "expand",
        "expand_as",
        "flatten",
        "imag",
        "indices",
        "mH",
        "mT",
        "matrix_H",
        "movedim",
        "narrow",
        "numpy_T",
        "permute",
        "real",
        "reshape",
        "reshape_as",
        "row_indices",
        "select",
        "slice",
        "slice_inverse",
        "sparse_coo_tensor_with_dims_and_tensors",
        "split",
        "split_with_sizes",
        "squeeze",
        "swapaxes",
        "swapdims",
        "t",
        "tensor_split",
        "transpose",
        "unbind",
        "unfold",
        "unsqueeze",
        "values",
        "view",
        "view_as",
        "view_as_complex",
        "view_as_real",
    }
)

#: In-place foreach functions (without the trailing underscore) that need no reference entry (gen_variable_type.py).
FOREACH_WITHOUT_REFERENCE = frozenset(
    {
        "_foreach_addcdiv.Tensor",
        "_foreach_addcmul.Tensor",
        "_foreach_copy",
        "_foreach_maximum.Scalar",
        "_foreach_maximum.ScalarList",
        "_foreach_minimum.Scalar",
        "_foreach_minimum.ScalarList",
    }
)

#: Functions, with their overloads, for which derivatives.yaml has an entry although they could share another's. A file
#: without that entry is a part of a derivatives file and says nothing of them.
WITH_OWN_ENTRY = frozenset(
    {
        "_foreach_div.List",
        "_foreach_maximum.Scalar",
        "_foreach_maximum.ScalarList",
        "_foreach_minimum.Scalar",
        "_foreach_minimum.ScalarList",
        "_foreach_mm",
        "_foreach_norm.Scalar",
        "_foreach_pow.List",
        "_foreach_pow.ScalarAndTensor",
        "_foreach_pow.ScalarList",
        "rrelu_with_noise_functional",
    }
)
