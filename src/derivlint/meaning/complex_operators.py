"""Operators whose gradients PyTorch has implemented and tested for complex numbers.

The generated kernel of any other operator refuses complex outputs that require a gradient. The list is a fact of
PyTorch 2.13 (gen_variable_type.py, ``GRADIENT_IMPLEMENTED_FOR_COMPLEX``); a test compares it with the installed
torchgen.
"""

from __future__ import annotations

from derivlint.formula.vocabulary import words
from derivlint.schema import NativeFunction, NativeFunctions

#: Base names of operators; some names stand there with the underscore of an in-place function, which no base name has.
COMPLEX_OPERATORS = words("""
    __radd__ __rmul__ _coalesce _conj _conj_physical _fft_c2c _fft_r2c _linalg_det _linalg_eigh _linalg_slogdet
    _linalg_solve_ex _linalg_svd _neg_view _reshape_alias _reshape_copy _sparse_addmm
    _sparse_coo_tensor_with_dims_and_tensors _sparse_sparse_matmul _to_copy _to_dense _unsafe_index
    _unsafe_index_put _unsafe_masked_index _unsafe_masked_index_put_accumulate _unsafe_view acos acosh add addbmm
    addcdiv addcmul addmm addmv addr alias alias_copy as_strided as_strided_copy as_strided_scatter asin asinh atan
    atanh baddbmm block_diag bmm cat channel_shuffle cholesky cholesky_inverse cholesky_solve chunk clone coalesce
    col2im complex conj_physical_ constant_pad_nd cos cosh cumprod cumsum cumulative_trapezoid diag diag_embed
    diagonal diagonal_backward diagonal_copy diagonal_scatter div dot eig eq_ exp exp2 expand expand_copy expm1 fill
    fill_ flip fliplr flipud gather im2col index index_add index_add_ index_copy index_fill index_put index_select
    inverse ldexp lerp linalg_cholesky linalg_cholesky_ex linalg_cross linalg_eig linalg_householder_product
    linalg_inv linalg_inv_ex linalg_lstsq linalg_lu linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp
    linalg_pinv linalg_qr linalg_solve linalg_solve_triangular linalg_vector_norm linear log log10 log1p log2
    logaddexp logcumsumexp logsumexp lu lu_solve lu_unpack masked_fill masked_scatter masked_scatter_backward
    masked_select matrix_exp mean mm mul mv nanmean nansum narrow_copy ne_ neg nonzero ormqr outer permute
    permute_copy pixel_shuffle pixel_unshuffle polar pow prod put put_ reciprocal reflection_pad1d
    reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward reflection_pad3d reflection_pad3d_backward
    renorm repeat replication_pad1d replication_pad1d_backward replication_pad2d replication_pad2d_backward
    replication_pad3d replication_pad3d_backward reshape reshape_as resize resize_as roll rot90 rsqrt rsub scatter
    scatter_add select select_backward sgn sigmoid sigmoid_backward sin sinc sinh slice slice_backward solve
    sparse_mask sparse_sampled_addmm split split_with_sizes split_with_sizes_backward sqrt squeeze squeeze_copy
    stack std_mean sub sum t t_copy take tan tanh tanh_backward to_sparse trace transpose transpose_copy trapezoid
    triangular_solve tril triu unbind unbind_copy unfold unfold_backward unfold_copy unsafe_split unsqueeze
    unsqueeze_copy values var_mean vdot view view_as view_as_complex view_copy where zero_
""")


#: Operators with real outputs that are differentiated for complex inputs: no list has them, since no output is complex.
REAL_VALUED = words("abs angle imag linalg_vector_norm norm real view_as_real")
#: Operators on the list that came with PyTorch 1.12 to 2.1: a release that lacks several has a shorter list of its own.
RECENT = ("_linalg_solve_ex", "_reshape_copy", "as_strided_scatter", "linalg_lu", "linalg_lu_solve", "view_copy")


def is_list_of_release(natives: NativeFunctions) -> bool:
    """Whether the list holds for a release: the operators on it exist there."""
    return sum(not natives.with_base(name) for name in RECENT) < 2


def is_complex_differentiable(function: NativeFunction) -> bool:
    """Whether the generated kernel of a function lets complex outputs require a gradient; follows ``get_base_name``."""
    return function.name.base in COMPLEX_OPERATORS


def takes_complex(function: NativeFunction) -> bool:
    """Whether a function is differentiated for complex inputs, whatever its outputs are."""
    return is_complex_differentiable(function) or function.name.base in REAL_VALUED
