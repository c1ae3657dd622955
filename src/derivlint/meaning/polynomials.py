"""Operators and helpers as polynomials in their arguments: what a formula needs to know of them to have a degree.

``addcdiv`` is ``self + tensor1*value/tensor2``: linear in ``self`` and in ``tensor1``, not in ``tensor2``. Coefficients
and signs are left out, and so are arguments that choose or shape (indices, masks, sizes). The table has the operators
that formulas are made of; what it does not have may be told by the file itself (:mod:`derivlint.meaning.operators`).
"""

from __future__ import annotations

from derivlint.formula.vocabulary import words
from derivlint.source.records import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """A product of arguments, divided by others.

    Attributes:
        factors: the arguments that it is linear in, each for itself.
        divisors: the arguments that it is not linear in.
    """

    factors: tuple[str, ...]
    divisors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Polynomial:
    """An operator as a sum of terms.

    Attributes:
        parameters: its parameters by position, as far as the terms speak of them.
        terms: the terms; none for an operator that returns zeros.
    """

    parameters: tuple[str, ...]
    terms: tuple[Term, ...]


#: Functions that are linear in their first argument; the others shape, choose or are plain numbers.
LINEAR = words("""
    sum nansum sum_to mean cumsum trace neg negative conj conj_physical _conj _neg_view resolve_conj resolve_neg
    real imag view_as_real view_as_complex t transpose permute movedim swapaxes mT mH adjoint H T view view_as
    _unsafe_view reshape reshape_as _reshape_alias _reshape_copy expand expand_as squeeze unsqueeze unsqueeze_to
    unsqueeze_multiple flatten unflatten narrow narrow_copy slice slice_copy select select_copy split
    split_with_sizes chunk unbind diagonal diag diag_embed tril triu flip fliplr flipud roll rot90 repeat
    repeat_interleave tile index_select take gather unfold unfold_copy as_strided as_strided_copy contiguous clone
    alias detach to type_as toType to_dense to_sparse to_sparse_csr to_sparse_bsr to_sparse_csc to_sparse_bsc
    to_mkldnn _to_dense _to_sparse _to_copy coalesce _coalesce values _values sparse_mask pad constant_pad_nd
    pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle block_diag col2im im2col _fft_r2c _fft_c2r
    _fft_c2c fft_fft fft_ifft restore_reduced_dims gather_with_keepdimed_indices apply_loss_reduction wrap_opt_if
    to_tensor_list value move sum_backward mean_backward nansum_backward unsqueeze_multiple sum_to_size ravel
    positive deg2rad rad2deg diff masked_select take_along_dim index tensor_split vsplit hsplit dsplit swapdims
    moveaxis expand_copy upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d
    upsample_trilinear3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa avg_pool2d avg_pool3d
    adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d reflection_pad1d
    reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d _nested_get_values
    _nested_get_jagged_dummy mkldnn_adaptive_avg_pool2d to_padded_tensor
""")

#: Functions that return zeros, or nothing that is defined.
ZEROS = words("""
    zero zeros zeros_like new_zeros _efficientzerotensor
""")

#: Functions that are linear in none of their arguments.
NONLINEAR = words("""
    isnan isinf isfinite eq ne lt gt le ge equal logical_and logical_or logical_not logical_xor
    abs absolute acos acosh angle asin asinh atan atan2 atanh cbrt ceil clamp clamp_min clamp_max cos cosh digamma
    erf erfc erfinv exp exp2 expm1 floor frac gelu hardsigmoid hardswish hypot lgamma log log10 log1p log2 logaddexp
    logaddexp2 logcumsumexp logsumexp logit max maximum min minimum amax amin mish norm nanmedian median mode
    polygamma pow prelu prod reciprocal relu round rsqrt sgn sigmoid sign silu sin sinc sinh softmax log_softmax
    softplus sqrt square std tan tanh trunc var fmax fmin cumprod cummax cummin special_i0 special_i0e special_i1
    special_i1e special_ndtri special_erfcx special_log_ndtr linalg_vector_norm frobenius_norm linalg_inv inverse
    cholesky det logdet linalg_det linalg_svd linalg_eig linalg_eigh linalg_qr matrix_exp linalg_matrix_exp i0
""")

_TABLE = """
add(self, other, alpha): self + other*alpha
sub(self, other, alpha): self + other*alpha
subtract(self, other, alpha): self + other*alpha
rsub(self, other, alpha): other + self*alpha
mul(self, other): self*other
multiply(self, other): self*other
div(self, other): self/other
divide(self, other): self/other
true_divide(self, other): self/other
where(condition, self, other): self + other
masked_fill(self, mask, value): self + value
masked_scatter(self, mask, source): self + source
index_fill(self, dim, index, value): self + value
index_copy(self, dim, index, source): self + source
index_add(self, dim, index, source, alpha): self + source*alpha
index_put(self, indices, values): self + values
_unsafe_index_put(self, indices, values): self + values
_index_put_impl(self, indices, values): self + values
scatter(self, dim, index, src): self + src
scatter_add(self, dim, index, src): self + src
put(self, index, source): self + source
slice_scatter(self, src): self + src
select_scatter(self, src): self + src
diagonal_scatter(self, src): self + src
as_strided_scatter(self, src): self + src
fill(self, value): value
fill_diagonal(self, value): self + value
copy(self, src): src
scalar_tensor(s): s
full(size, fill_value): fill_value
full_like(self, fill_value): fill_value
new_full(self, size, fill_value): fill_value
_unsafe_masked_index(self, mask, indices, fill): self + fill
_unsafe_masked_index_put_accumulate(self, mask, indices, values): self + values
mm(self, mat2): self*mat2
bmm(self, mat2): self*mat2
matmul(self, other): self*other
mv(self, vec): self*vec
dot(self, tensor): self*tensor
vdot(self, other): self*other
ger(self, vec2): self*vec2
outer(self, vec2): self*vec2
inner(self, other): self*other
kron(self, other): self*other
cross(self, other): self*other
linalg_cross(self, other): self*other
linalg_vecdot(x, y): x*y
linear(input, weight, bias): input*weight + bias
addmm(self, mat1, mat2, beta, alpha): self*beta + mat1*mat2*alpha
addmv(self, mat, vec, beta, alpha): self*beta + mat*vec*alpha
addbmm(self, batch1, batch2, beta, alpha): self*beta + batch1*batch2*alpha
baddbmm(self, batch1, batch2, beta, alpha): self*beta + batch1*batch2*alpha
addr(self, vec1, vec2, beta, alpha): self*beta + vec1*vec2*alpha
sspaddmm(self, mat1, mat2, beta, alpha): self*beta + mat1*mat2*alpha
sparse_sampled_addmm(self, mat1, mat2, beta, alpha): self*beta + mat1*mat2*alpha
_sparse_mm(self, mat2): self*mat2
_sparse_sparse_matmul(self, other): self*other
addcmul(self, tensor1, tensor2, value): self + tensor1*tensor2*value
addcdiv(self, tensor1, tensor2, value): self + tensor1*value/tensor2
lerp(self, end, weight): self + weight*end + weight*self
_trilinear(i1, i2, i3): i1*i2*i3
complex(real, imag): real + imag
polar(abs, angle): abs/angle
xlogy(self, other): self/other
special_xlogy(self, other): self/other
special_xlog1py(self, other): self/other
ldexp(self, other): self/other
copysign(self, other): self/other
maybe_multiply(t, s): t*s
solve_triangular(A, B): B/A
linalg_solve_triangular(self, B): B/self
triangular_solve(self, A): self/A
cholesky_solve(self, input2): self/input2
linalg_solve(A, B): B/A
lu_solve(self, LU_data): self/LU_data
linalg_lu_solve(LU, pivots, B): B/LU
cat(tensors): tensors
concat(tensors): tensors
stack(tensors): tensors
hstack(tensors): tensors
vstack(tensors): tensors
"""


def _parse(line: str) -> tuple[str, Polynomial]:
    head, _, body = line.partition(":")
    name, _, parameters = head.rstrip(")").partition("(")
    terms = []
    for term in body.split("+"):
        factors, *divisors = term.strip().split("/")
        terms.append(Term(tuple(factors.split("*")), tuple(divisors)))
    return name, Polynomial(tuple(parameters.split(", ")), tuple(terms))


FIRST = "self"
_LINEAR = Polynomial((FIRST,), (Term((FIRST,)),))
_ZERO = Polynomial((), ())
#: Of the second argument: ``handle_r_to_c(scalar_type, gradient)``.
SECOND = {"handle_r_to_c": Polynomial(("self_st", "gradient_result"), (Term(("gradient_result",)),))}

POLYNOMIALS: dict[str, Polynomial] = {
    **dict.fromkeys(LINEAR, _LINEAR),
    **dict.fromkeys(ZEROS, _ZERO),
    **dict(map(_parse, _TABLE.strip().splitlines())),
    **SECOND,
}
