"""The table of the scalar evaluation against PyTorch: values and gradients of every operator that can be called."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from derivlint.analysis.scalar_evaluation.judgement import judgement_of
from derivlint.analysis.scalar_evaluation.points import POINTS, NumberKind, arguments_at
from derivlint.analysis.scalar_evaluation.reference import ReferenceOperator, reference_of
from derivlint.analysis.scalar_evaluation.values import OPAQUE, REAL, MetadataToken, UnknownValueError, conj
from derivlint.formula.vocabulary import words
from derivlint.model import build_model
from derivlint.operators import Book
from derivlint.schema import Argument, ListType, NativeFunction, NativeFunctions, SchemaKind
from derivlint.source import SourceFile

pytestmark = pytest.mark.long

#: Operators of the table that cannot be called here: without their backend, on dense tensors, with random numbers.
NOT_CALLED = words("""
    _cdist_backward _coalesce _conv_depthwise2d _mps_convolution _native_batch_norm_legit
    _native_batch_norm_legit_no_training _slow_conv2d_forward _sparse_log_softmax _sparse_softmax _sparse_sparse_matmul
    _sparse_sum _to_dense _values coalesce contiguous conv_depthwise3d convolution_backward_overrideable
    cudnn_batch_norm convolution_overrideable cudnn_convolution cudnn_convolution_transpose diagonal_backward imag
    linear_backward log_sigmoid_backward matmul_backward max_pool2d_backward miopen_convolution
    miopen_convolution_transpose miopen_depthwise_convolution mkldnn_convolution mps_convolution_backward
    native_batch_norm native_dropout select_backward slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d
    slow_conv_transpose3d sparse_sampled_addmm trace_backward values

    _mkldnn_reshape _pin_memory _sparse_log_softmax_backward_data _sparse_softmax_backward_data _to_sparse
    _to_sparse_bsc _to_sparse_bsr _to_sparse_csc _to_sparse_csr _test_warn_in_autograd sparse_mask to_mkldnn
""")
#: Operators that want arguments which are not made here, which belong together or have more elements, and those that
#: round or draw random numbers. Most are compared in tests/operators, by their definitions or as numbers.
NOT_MADE = words("""
    _batch_norm_no_update _batch_norm_with_update _cudnn_attention_backward _cudnn_attention_forward _cudnn_ctc_loss
    _efficient_attention_backward _efficient_attention_forward _embedding_bag _embedding_bag_backward
    _embedding_bag_forward_only _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fft_c2r
    _flash_attention_backward _flash_attention_forward _fused_dropout _fused_moving_avg_obs_fq_helper
    _fused_rms_norm_backward _grid_sampler_2d_cpu_fallback _grid_sampler_2d_cpu_fallback_backward _grouped_mm
    _mps_convolution_transpose _nested_from_padded _nested_from_padded_tensor _nested_get_values
    _nested_select_backward _nested_sum_backward _nested_tensor_from_mask _nested_tensor_from_tensor_list
    _nested_view_from_buffer _nested_view_from_jagged _nnpack_spatial_convolution _pack_padded_sequence
    _pack_padded_sequence_backward _pdist_forward _scaled_dot_product_cudnn_attention
    _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention
    _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention
    _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu_backward
    _scaled_dot_product_fused_attention_overrideable _scaled_dot_product_fused_attention_overrideable_backward
    _sparse_coo_tensor_with_dims_and_tensors _sparse_mm_reduce_impl _thnn_differentiable_gru_cell_backward
    _thnn_differentiable_lstm_cell_backward _thnn_fused_gru_cell _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell
    _thnn_fused_lstm_cell_backward affine_grid_generator affine_grid_generator_backward block_diag cat
    conv_tbc_backward cudnn_affine_grid_generator cudnn_affine_grid_generator_backward cudnn_batch_norm_backward
    cudnn_grid_sampler
    cudnn_grid_sampler_backward fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask
    fractional_max_pool2d fractional_max_pool3d glu glu_backward glu_backward_jvp glu_jvp grid_sampler_2d
    grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward linalg_cross miopen_batch_norm
    miopen_batch_norm_backward miopen_ctc_loss mkldnn_adaptive_avg_pool2d mkldnn_adaptive_avg_pool2d_backward
    mkldnn_linear mkldnn_linear_backward mkldnn_max_pool2d mkldnn_max_pool2d_backward mkldnn_max_pool3d
    mkldnn_max_pool3d_backward mps_convolution_transpose_backward multi_margin_loss multi_margin_loss_backward
    multilabel_margin_loss_backward multilabel_margin_loss_forward nll_loss nll_loss2d nll_loss2d_backward
    nll_loss2d_forward nll_loss_backward nll_loss_forward segment_reduce sparse_compressed_tensor stack
    to_padded_tensor view_as_complex view_as_real
""")
#: Operators whose gradients PyTorch itself has wrong; a test below shows each.
WRONG_IN_PYTORCH = words("_sparse_addmm as_strided_scatter index_add")
#: What is known of the operators of the installed PyTorch.
BOOK = Book("2.13.0")
#: How many dimensions tensors are tried with.
DIMENSIONS = (1, 2, 3, 4, 5, 0)


def functions(natives: NativeFunctions) -> Iterator[tuple[NativeFunction, ReferenceOperator]]:
    for function in natives.functions:
        if function.schema.kind is SchemaKind.functional and not function.name.is_foreach:
            reference = reference_of(function)
            if reference is not None:
                yield function, reference


def tensors_of(function: NativeFunction) -> list[str]:
    return [
        argument.name
        for argument in function.schema.arguments.flat_non_out
        if argument.type.is_tensor_like and argument.type.is_list_like is None
    ]


def differentiable(function: NativeFunction) -> list[str]:
    return [name for name in tensors_of(function) if name not in ("mask", "condition", "index", "indices", "pivots")]


def shapes(count: int) -> Iterator[tuple[int, ...]]:
    """Numbers of dimensions to try: all tensors alike, then any mixture of few."""
    for dimensions in DIMENSIONS:
        yield (dimensions,) * count
    if 1 < count <= 3:
        yield from itertools.product((1, 2, 3), repeat=count)


def argument_value(argument: Argument, value: Any, dimensions: int) -> Any:
    """The value of a point as PyTorch takes it."""
    name = argument.name
    kind = argument.type.is_list_like
    if kind is not None and argument.type.is_tensor_like:
        if name != "indices":
            raise UnknownValueError
        return [torch.zeros((1,) * dimensions, dtype=torch.int64)] * dimensions
    if isinstance(value, MetadataToken):
        if value is OPAQUE:
            raise UnknownValueError
        return torch.float64 if value is REAL else torch.complex128
    if kind is not None and isinstance(value, tuple):
        if name == "dims":
            return list(range(dimensions))
        if name.startswith("expand") or name == "sumdim":
            return []
        if name == "pad":
            return [0, 0]
        if isinstance(kind, ListType) and kind.size is not None:
            return [value[0]] * kind.size
        if name in ("padding", "output_padding", "dilation", "stride") and dimensions > 2 and "strid" not in name[6:]:
            spatial = [value[0]] * (dimensions - 2)
            return spatial if name != "stride" or argument.default is None else [value[0]] * dimensions
        length = dimensions if name in SIZED else 1
        return [value[0]] * length
    return value


#: Lists with one number for each dimension.
SIZED = words("size sizes stride input_size input_sizes repeats")


def tensor_of(name: str, value: Any, dimensions: int) -> torch.Tensor:
    if name in ("pivots", "LU_pivots"):
        return torch.ones((1,) * dimensions, dtype=torch.int32)
    dtype = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}[type(value)]
    return torch.full((1,) * dimensions, value, dtype=dtype)


def called(function: NativeFunction, values: dict[str, Any], shape: tuple[int, ...]) -> Any:
    """What PyTorch computes, and the tensors that it is given."""
    operator = getattr(getattr(torch.ops.aten, str(function.name.base)), function.name.overload or "default")
    tensors: dict[str, torch.Tensor] = {}
    by_name = dict(zip(tensors_of(function), shape, strict=True))
    only = {argument.name for argument in function.schema.arguments.flat_kwarg_only}
    positional, keywords = [], {}
    for argument in function.schema.arguments.flat_non_out:
        value = values.get(argument.name)
        if argument.name in by_name and value is not None:
            tensors[argument.name] = value = tensor_of(argument.name, value, by_name[argument.name])
        elif value is None and argument.name not in values and argument.name != "indices":
            if argument.default is None:
                raise UnknownValueError
            continue
        else:
            value = argument_value(argument, value, max(shape, default=1))
        if argument.name in only:
            keywords[argument.name] = value
        else:
            positional.append(value)
    fixed: set[str] = set()
    while True:
        for name in differentiable(function):
            if name in tensors and (tensors[name].is_floating_point() or tensors[name].is_complex()):
                tensors[name].requires_grad_(name not in fixed)
        try:
            result = operator(*positional, **keywords)
            break
        except RuntimeError as error:
            # an argument without derivative: once more without a gradient for it
            refused = [name for name in tensors if f"with respect to argument '{name}'" in str(error)]
            if not refused or refused[0] in fixed:
                raise
            fixed.add(refused[0])
    return result if isinstance(result, (tuple, list)) else (result,), tensors


def close(one: Any, other: Any) -> bool:
    return abs(complex(one) - complex(other)) <= 1e-6 * (1 + abs(complex(one)))


class Comparison:
    """Comparisons of one operator."""

    def __init__(self) -> None:
        self.values = 0
        self.gradients = 0
        self.wrong: list[str] = []

    def compare(self, function: NativeFunction, reference: ReferenceOperator, kind: NumberKind, number: int) -> None:
        arguments = arguments_at(function, differentiable(function), kind, number)
        try:
            expected = reference.outputs(arguments)
        except UnknownValueError:
            return
        for shape in shapes(len(tensors_of(function))):
            try:
                found, tensors = called(function, arguments, shape)
            except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError, UnknownValueError):
                continue
            if not all(not isinstance(item, torch.Tensor) or item.numel() == 1 for item in found[:1]):
                continue
            for ours, theirs in zip(expected, found, strict=False):
                if not isinstance(theirs, torch.Tensor) or theirs.numel() != 1 or theirs.isnan().any():
                    continue
                if theirs.dtype not in (torch.int64, torch.int32):
                    self.values += 1
                    if not close(theirs.item(), ours):
                        self.wrong.append(f"{function.name}{arguments}: {theirs.item()}, not {ours}")
            self._gradients(function, reference, arguments, found, tensors)
            return

    def _gradients(
        self, function: NativeFunction, reference: ReferenceOperator, arguments: Any, found: Any, tensors: Any
    ) -> None:
        output = found[0]
        if not isinstance(output, torch.Tensor) or not output.requires_grad or output.numel() != 1:
            return
        if output.is_complex() and not BOOK.is_complex_differentiable(function):
            return
        g = complex(0.7, -0.4) if output.is_complex() else 0.7
        inputs = [name for name, tensor in tensors.items() if tensor.requires_grad]
        try:
            gradients = torch.autograd.grad(
                output, [tensors[name] for name in inputs], torch.full_like(output, g), allow_unused=True
            )
        except (RuntimeError, NotImplementedError):
            return
        for name, gradient in zip(inputs, gradients, strict=True):
            try:
                slope = reference.slopes(arguments, name, 1.0, certain=True)[0]
                expected = (conj(g) * slope).real
                if tensors[name].is_complex():
                    slope = reference.slopes(arguments, name, 1j, certain=True)[0]
                    expected = complex(expected, (conj(g) * slope).real)
            except UnknownValueError:
                continue
            self.gradients += 1
            theirs = 0.0 if gradient is None else gradient.item()
            if abs(complex(theirs) - expected) > 1e-4 * (1 + abs(expected)):
                self.wrong.append(f"{function.name}{arguments}: gradient of {name} {theirs}, not {expected}")


@pytest.fixture(scope="module")
def comparisons(installed_natives: NativeFunctions) -> dict[str, Comparison]:
    found: dict[str, Comparison] = {}
    for function, reference in functions(installed_natives):
        base = function.name.base
        if base in NOT_CALLED | NOT_MADE:
            continue
        comparison = found.setdefault(base, Comparison())
        for number in range(POINTS):
            comparison.compare(function, reference, NumberKind.REAL, number)
        if BOOK.is_complex_differentiable(function):
            for number in range(2):
                comparison.compare(function, reference, NumberKind.COMPLEX, number)
    return found


def test_values_and_gradients_are_those_of_pytorch(comparisons: dict[str, Comparison]) -> None:
    wrong = {base: comparison.wrong for base, comparison in comparisons.items() if comparison.wrong}
    assert {base: texts for base, texts in wrong.items() if base not in WRONG_IN_PYTORCH} == {}
    assert set(wrong) == set(WRONG_IN_PYTORCH)


def test_every_operator_of_the_table_is_compared(comparisons: dict[str, Comparison]) -> None:
    assert sorted(base for base, comparison in comparisons.items() if comparison.values == 0) == []
    assert sum(comparison.gradients > 0 for comparison in comparisons.values()) > 370


def test_the_gradient_of_a_complex_alpha_of_index_add_is_wrong() -> None:
    """ "index_add" forgets to conjugate alpha."""
    source = torch.tensor([1 + 2j], dtype=torch.complex128, requires_grad=True)
    result = torch.index_add(torch.zeros(1, dtype=torch.complex128), 0, torch.tensor([0]), source, alpha=3 + 4j)
    (gradient,) = torch.autograd.grad(result, source, torch.ones_like(result))
    assert gradient.item() == 3 + 4j


def test_the_gradient_of_a_complex_beta_of_a_sparse_addmm_is_wrong() -> None:
    """ "_sparse_addmm" forgets to conjugate beta."""
    self = torch.ones(1, 1, dtype=torch.complex128, requires_grad=True)
    sparse = torch.ones(1, 1, dtype=torch.complex128).to_sparse()
    result = torch.sparse.addmm(self, sparse, torch.ones(1, 1, dtype=torch.complex128), beta=3 + 4j)
    (gradient,) = torch.autograd.grad(result, self, torch.ones_like(result))
    assert gradient.item() == 3 + 4j


def test_the_gradient_of_what_as_strided_scatter_overwrites_is_wrong() -> None:
    """The first element is overwritten, and it is the only one with a gradient."""
    self = torch.zeros(3, requires_grad=True)
    (gradient,) = torch.autograd.grad(torch.as_strided_scatter(self, torch.ones(1), (1,), (1,)).sum(), self)
    assert gradient.tolist() == [1, 0, 0]


def test_the_gradient_of_native_dropout_without_train_is_wrong() -> None:
    """Without "train" the operator drops and scales as in training, but the gradient is not scaled."""
    input = torch.ones(100, requires_grad=True)
    result, mask = torch.native_dropout(input, 0.5, None)
    (gradient,) = torch.autograd.grad(result.sum(), input)
    assert set(result[mask].tolist()) == {2.0}
    assert set(gradient[mask].tolist()) == {1.0}


def test_the_installed_file_has_exactly_one_wrong_gradient_and_one_wrong_tangent(
    derivatives_path: Path, bundled_natives: NativeFunctions
) -> None:
    model = build_model(SourceFile.read(derivatives_path), bundled_natives)
    wrong = [item for entry in model.entries for item in judgement_of(model, entry).wrong]
    assert [(str(item.formula.evaluation.function.name), item.name) for item in wrong] == [
        ("native_dropout", "input"),
        ("rsub.Scalar", "result"),
    ]
    assert not any(judgement_of(model, entry).contradictions for entry in model.entries)
    assert not any(judgement_of(model, entry).shares for entry in model.entries)
