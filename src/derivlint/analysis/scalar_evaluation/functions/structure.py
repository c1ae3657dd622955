"""Operators that move, select, sum or fill elements, for one element."""

from __future__ import annotations

from derivlint.analysis.scalar_evaluation.functions.table import add, helper, helpers, operator, operators
from derivlint.analysis.scalar_evaluation.values import (
    COMPLEX,
    REAL,
    DualList,
    UnknownValueError,
    Value,
    cast,
    real_only,
)
from derivlint.formula.vocabulary import words
from derivlint.operators import Book

#: Operators whose result is the element of the first argument.
IDENTITIES = Book.by_hand("moves-elements")

#: Operators whose result is the element of the first argument and its index.
SELECTIONS = Book.by_hand("selects")

#: Operators whose result is the element of the only tensor in a list.
JOINING = Book.by_hand("joins")

#: The tangents of these operators, which take the list with tangents.
JOINED_TANGENTS = Book.by_hand("joins-tangents")

#: Operators whose result is a list with the first argument.
SPLITTING = Book.by_hand("splits")

#: Operators that return the element unchanged.
PLAIN = IDENTITIES | JOINING | SPLITTING

#: Parameters for positions and storage, which do not matter for one element.
PLACES = words("""
    dim dims dim0 dim1 dim2 dimension keepdim size sizes sym_sizes shape stride strides storage_offset start end
    step index indices dtype layout device pin_memory memory_format non_blocking copy generator options implicit
    sparse_grad unsafe order pad padding kernel_size output_size dilation ceil_mode count_include_pad
    divisor_override transposed output_padding groups scales scales_h scales_w scales_d align_corners output_mask
    random_samples input_size start_dim end_dim repeats offset length self_sizes upscale_factor downscale_factor
    normalization forward benchmark deterministic cudnn_enabled allow_tf32 bias_sizes split_size split_sizes
    type_meta chunks masked_grad correctly_rounded compute_mode check_errors stable descending largest sorted k
    destination upper left transpose pivot pivots LU_pivots UPLO lengths full_matrices compute_uv driver
    half_to_float reduction input_dtype atol rtol stride0 bias_defined unroll_dim expand1 expand2 expand3 sumdim
    axis offsets sparse_dim dense_dim is_coalesced compressed_indices plain_indices
""")


def _first(self: Value) -> Value:
    return self


def _listed(self: Value) -> Value:
    return (self,)


def _only(tensors: Value) -> Value:
    """The only tensor of a list; a list argument may already be a number."""
    if not isinstance(tensors, tuple):
        return tensors
    if len(tensors) != 1:
        raise UnknownValueError
    return tensors[0]


def _only_tangent(tensors: Value) -> Value:
    if not isinstance(tensors, DualList):
        raise UnknownValueError
    return tensors.tangents[0]


add(IDENTITIES, _first, by_position=True)
add(JOINING, _only, by_position=True)
add(JOINED_TANGENTS, _only_tangent, by_position=True)
add(SPLITTING, _listed, by_position=True)
add(SELECTIONS, lambda self: (self, 0), by_position=True)


# ---- selections


@operator()
def where(condition: Value, self: Value, other: Value) -> Value:
    """One of two numbers, complex if either is."""
    if type(condition) is not bool:
        raise UnknownValueError
    return _like(other if type(self) is not complex else self, self if condition else other)


@operator()
def masked_select(self: Value, mask: Value) -> Value:
    """The element if the mask is set; otherwise unknown."""
    if not mask:
        raise UnknownValueError
    return self


operators(
    {
        # the element; with its index if a dimension is specified
        "median nanmedian max min": lambda self, dim="all": self if dim == "all" else (self, 0),
        "aminmax": lambda self: (self, self),
        # the value where the mask is set
        "masked_fill": lambda self, mask, value: where(mask, value, self),
        # the source where the mask is set
        "masked_scatter": lambda self, mask, source: where(mask, source, self),
        # the element where the mask is set
        "_unsafe_masked_index": lambda self, mask, fill: where(mask, self, fill),
        # the value is added where the mask is set
        "_unsafe_masked_index_put_accumulate": lambda self, mask, values: self + values if mask else self,
    }
)


helpers(
    {
        # the gradient where the mask is set
        "masked_select_backward": lambda grad, _input, mask: where(mask, grad, 0.0 * grad),
        # the gradient where the mask is set
        "masked_scatter_backward": lambda grad, mask, _sizes=None: where(mask, grad, 0.0 * grad),
    }
)


# ---- writing elements


@operator("index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(self: Value, _indices: Value, values: Value, accumulate: Value = False) -> Value:
    """The written value, or its sum with the element."""
    return self + values if accumulate else _like(self, values)


@operator("scatter_reduce")
def scatter_reduce(
    self: Value, _dim: Value, _index: Value, src: Value, reduce: Value, include_self: Value = True
) -> Value:
    """The reduction of the element and the written value, or of the latter only."""
    return _reduced(self, src, reduce) if include_self else _like(self, src)


@operator("index_reduce")
def index_reduce(
    self: Value, _dim: Value, _index: Value, source: Value, reduce: Value, include_self: Value = True
) -> Value:
    """The reduction of the element and the written value, or of the latter only; sums are not supported."""
    if reduce == "sum":
        raise UnknownValueError
    return scatter_reduce(self, 0, 0, source, reduce, include_self)


def _reduced(current: Value, new: Value, reduce: Value) -> Value:
    if reduce == "prod":
        return current * new
    if reduce in ("sum", "mean"):
        return (current + new) / (2 if reduce == "mean" else 1)
    if reduce not in ("amax", "amin"):
        raise UnknownValueError
    return (max if reduce == "amax" else min)(real_only(current), real_only(new))


@operator("segment_reduce")
def segment_reduce(data: Value, reduce: Value, initial: Value = None) -> Value:
    """The element; an initial value is unsupported."""
    if initial is not None or reduce is None:
        raise UnknownValueError
    return data


@helper("_pack_padded_sequence", "fractional_max_pool2d", "fractional_max_pool3d")
def chosen(self: Value, _kernel: Value = None, _output: Value = None, _random_samples: Value = None) -> Value:
    """The element, and its index or the number of elements."""
    return self, 0


@operator("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    weight: Value,
    _scale_grad_by_freq: Value = False,
    mode: Value = 0,
    _sparse: Value = False,
    per_sample_weights: Value = None,
    _include_last_offset: Value = False,
    _padding_idx: Value = -1,
) -> Value:
    """The only row of the only bag times its weight, and the metadata of the bags."""
    if mode != 0:
        raise UnknownValueError
    return weight if per_sample_weights is None else weight * per_sample_weights, 0, 1, 0


@helper()
def _embedding_bag_backward(
    grad: Value,
    _indices: Value,
    _offsets: Value,
    _offset2bag: Value,
    _bag_size: Value,
    _maximum_indices: Value,
    _num_weights: Value,
    _scale_grad_by_freq: Value,
    _mode: Value,
    _sparse: Value,
    per_sample_weights: Value = None,
) -> Value:
    return grad if per_sample_weights is None else grad * per_sample_weights


def _like(self: Value, value: Value) -> Value:
    """A number as a tensor element, complex if the tensor is."""
    if value is None:
        raise UnknownValueError
    return complex(value) if type(self) is complex else float(value) if isinstance(value, int) else value


operators(
    {
        # the written value
        "scatter": lambda self, _dim, _index, src=None, value=None: _like(self, value if src is None else src),
        # the written value
        "index_fill": lambda self, _dim, _index, value: _like(self, value),
        # the written value
        "index_copy": lambda self, _dim, _index, source: _like(self, source),
        # the written value
        "select_scatter slice_scatter diagonal_scatter as_strided_scatter copy": lambda self, src: _like(self, src),
        # the written value, or the sum with the element
        "put": lambda self, _index, source, accumulate=False: self + source if accumulate else _like(self, source),
        "index_add": lambda self, _dim, _index, source, alpha=1: self + alpha * source,
        "scatter_add": lambda self, _dim, _index, src: self + src,
        # the only value
        "_sparse_coo_tensor_with_dims_and_tensors sparse_compressed_tensor": lambda values: values,
        "_to_copy": lambda self, dtype=None: cast(self, dtype),
    }
)


helpers(
    {
        # the gradient of the only element
        "_segment_reduce_backward": lambda grad: grad,
        "to_sparse_backward sparse_mask_backward _sparse_sum_backward": lambda grad: grad,
        "to_mkldnn_backward warn_backwards": lambda grad: grad,
        "fft_r2c_backward": lambda grad: float(grad.real),
        "fft_c2r_backward": lambda grad: cast(grad, COMPLEX),
        "_fft_r2c": lambda self: complex(real_only(self)),
        "_fft_c2r": lambda self: float(self.real),
        "_embedding_bag_per_sample_weights_backward": lambda grad, weight: grad * weight,
        # all elements are overwritten
        "as_strided_scatter_backward": lambda grad: 0.0 * grad,
    }
)


@helper()
def handle_r_to_c(dtype: Value, gradient: Value) -> Value:
    """The real part of a gradient if the argument is real."""
    return float(gradient.real) if dtype is REAL else gradient


# ---- creating tensors


@operator("zeros_like", "zero")
def zeros_like(self: Value) -> Value:
    """Zero with the same dtype."""
    return 0j if type(self) is complex else 0.0


@operator("ones_like")
def ones_like(self: Value) -> Value:
    """One with the same dtype."""
    return 1 + 0j if type(self) is complex else 1.0


@operator()
def fill(self: Value, value: Value) -> Value:
    """A value with the same dtype."""
    return _like(self, value)


operators(
    {
        "triu": lambda self, diagonal=0: self if diagonal <= 0 else 0.0 * self,
        "tril": lambda self, diagonal=0: self if diagonal >= 0 else 0.0 * self,
    }
)
