"""Inputs for operators that none of PyTorch's samples reaches, or only with inputs that are too large or too plain.

A recipe gives the arguments that have no default. Those with tensors that are not dense, and those of operators that
take single precision only, are in modules of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from derivlint.verify.functions import Described
from derivlint.verify.points import Point, overload_of
from derivlint.verify.recipes_layouts import LAYOUTS
from derivlint.verify.recipes_single import SINGLE

#: Makes a tensor of a shape, with elements between 0.2 and 1.
Random = Callable[..., Any]
Recipe = Callable[[Random], dict[str, Any]]

_ONES2, _ONES3 = [1, 1], [1, 1, 1]


def _convolution(r: Random, *axes: int) -> dict[str, Any]:
    return {"self": r(1, 2, *(4 for _ in axes)), "weight": r(3, 2, *axes), "kernel_size": list(axes), "bias": r(3)}


def _steps(count: int, **more: Any) -> dict[str, Any]:
    return {"stride": [1] * count, "padding": [0] * count, **more}


def _pool_moves(count: int) -> dict[str, Any]:
    return {"kernel_size": [2] * count, "dilation": [1] * count, "padding": [0] * count, "stride": [1] * count}


def _ctc(r: Random) -> dict[str, Any]:
    import torch

    return {
        "log_probs": torch.log_softmax(r(5, 2, 4), -1),
        "targets": torch.tensor([[1, 2], [3, 1]]),
        "input_lengths": [5, 4],
        "target_lengths": [2, 1],
    }


def _ctc_tensor(r: Random) -> dict[str, Any]:
    import torch

    lengths = {"input_lengths": torch.tensor([5, 4]), "target_lengths": torch.tensor([2, 1])}
    return {**_ctc(r), **lengths}


def _masked_softmax(r: Random) -> dict[str, Any]:
    import torch

    mask = torch.tensor([[False, True, False], [False, False, True]])
    return {"self": r(2, 3), "mask": mask, "dim": 1, "mask_type": 2}


def _not_finite(r: Random) -> dict[str, Any]:
    """Where the operator does anything at all, it is constant."""
    import torch

    others = torch.tensor([math.inf, -math.inf, math.nan], dtype=torch.float64)
    return {"self": torch.cat([r(2), others]), "nan": 0.5, "posinf": 2.0, "neginf": -2.0}


def _packed(r: Random) -> dict[str, Any]:
    import torch

    return {"input": r(3, 2, 2), "lengths": torch.tensor([3, 2]), "batch_first": False}


def _moments(r: Random) -> dict[str, Any]:
    names = ("weight", "bias", "running_mean", "running_var")
    return {"input": r(3, 2, 2), **{name: r(2) for name in names}, "momentum": 0.1, "eps": 1e-5}


def _norm(r: Random) -> dict[str, Any]:
    import torch

    return {"self": r(2, 3), "p": 3, "dtype": torch.float64}


def _scales(scale: Any) -> dict[str, Any]:
    return {"scale": scale / 10, "zero_point": scale * 0, **_LEVELS}


def _fake_quantized(r: Random) -> dict[str, Any]:
    import torch

    kinds = {"zero_point": torch.zeros(1, dtype=torch.int32), "fake_quant_enabled": torch.ones(1, dtype=torch.int64)}
    return {"self": r(4), "scale": r(1).float() / 10, **kinds, **_LEVELS}


def _places(step: int, *shape: int) -> Any:
    """Different indices, out of order."""
    import torch

    return (torch.arange(math.prod(shape)) * step).flip(0).reshape(1, *shape)


_LEVELS = {"quant_min": 0, "quant_max": 7}
_AA = {"output_size": [3, 3], "align_corners": False}
_AA_BACK = {**_AA, "input_size": [1, 1, 4, 4]}

RECIPES: dict[str, Recipe] = {
    "conv_tbc": lambda r: {"self": r(4, 2, 3), "weight": r(2, 3, 2), "bias": r(2), "pad": 0},
    "_ctc_loss": _ctc,
    "_ctc_loss.Tensor": _ctc_tensor,
    "nan_to_num": _not_finite,
    "native_dropout": lambda r: {"input": r(4), "p": 0.4, "train": True},
    "random_.from": lambda r: {"self": r(3), "from": 0, "to": 5},
    "random_.to": lambda r: {"self": r(3), "to": 5},
    "random_": lambda r: {"self": r(3)},
    "_weight_norm_interface": lambda r: {"v": r(3, 4), "g": r(3, 1), "dim": 0},
    "_masked_softmax": _masked_softmax,
    "rrelu_with_noise_functional": lambda r: {"self": r(4) - 0.6, "noise": r(4), "training": True},
    "_upsample_bilinear2d_aa": lambda r: {"self": r(1, 1, 4, 4), **_AA},
    "_upsample_bicubic2d_aa": lambda r: {"self": r(1, 1, 4, 4), **_AA},
    "_upsample_lanczos2d_aa": lambda r: {"self": r(1, 1, 4, 4), **_AA},
    "_upsample_bilinear2d_aa_backward": lambda r: {"grad_output": r(1, 1, 3, 3), **_AA_BACK},
    "_upsample_bicubic2d_aa_backward": lambda r: {"grad_output": r(1, 1, 3, 3), **_AA_BACK},
    "_upsample_lanczos2d_aa_backward": lambda r: {"grad_output": r(1, 1, 3, 3), **_AA_BACK},
    "upsample_trilinear3d": lambda r: {"self": r(1, 1, 2, 2, 2), "output_size": [3, 3, 3], "align_corners": True},
    "channel_shuffle": lambda r: {"self": r(1, 4, 2, 2), "groups": 2},
    "_adaptive_avg_pool3d": lambda r: {"self": r(1, 2, 3, 3, 3), "output_size": [2, 2, 2]},
    "_adaptive_avg_pool3d_backward": lambda r: {"grad_output": r(1, 2, 2, 2, 2), "self": r(1, 2, 3, 3, 3)},
    "slow_conv_transpose2d": lambda r: {
        **_convolution(r, 2, 2),
        "weight": r(2, 3, 2, 2),
        **_steps(2, output_padding=[0, 0], dilation=_ONES2),
    },
    "slow_conv_transpose3d": lambda r: {
        **_convolution(r, 2, 2, 2),
        "weight": r(2, 3, 2, 2, 2),
        **_steps(3, output_padding=[0, 0, 0], dilation=_ONES3),
    },
    "_slow_conv2d_forward": lambda r: {**_convolution(r, 2, 2), **_steps(2)},
    "_slow_conv2d_backward.output_mask": lambda r: {
        **_convolution(r, 2, 2),
        **_steps(2),
        "grad_output": r(1, 3, 3, 3),
        "output_mask": [True, True, True],
    },
    "slow_conv3d_forward": lambda r: {**_convolution(r, 2, 2, 2), **_steps(3)},
    "slow_conv_dilated2d": lambda r: {**_convolution(r, 2, 2), **_steps(2, dilation=_ONES2)},
    "slow_conv_dilated3d": lambda r: {**_convolution(r, 2, 2, 2), **_steps(3, dilation=_ONES3)},
    "_convolution": lambda r: {
        "input": r(1, 2, 4, 4),
        "weight": r(3, 2, 2, 2),
        "bias": r(3),
        **_steps(2, dilation=_ONES2, transposed=False, output_padding=[0, 0], groups=1),
        **dict.fromkeys(("benchmark", "deterministic", "cudnn_enabled", "allow_tf32"), False),
    },
    "im2col": lambda r: {"self": r(1, 2, 3, 3), **_pool_moves(2)},
    "col2im": lambda r: {"self": r(1, 8, 4), "output_size": [3, 3], **_pool_moves(2)},
    "reflection_pad3d_backward": lambda r: {
        "grad_output": r(1, 1, 4, 4, 4),
        "self": r(1, 1, 2, 2, 2),
        "padding": [1] * 6,
    },
    "replication_pad3d_backward": lambda r: {
        "grad_output": r(1, 1, 4, 4, 4),
        "self": r(1, 1, 2, 2, 2),
        "padding": [1] * 6,
    },
    "_test_warn_in_autograd": lambda r: {"self": r(3)},
    "_test_autograd_multiple_dispatch.fullcoverage": lambda r: {"self": r(3)},
    "_test_autograd_multiple_dispatch_view": lambda r: {"self": r(2, 3)},
    "_native_batch_norm_legit_no_training": _moments,
    "_batch_norm_no_update": _moments,
    "_scaled_dot_product_flash_attention_for_cpu": lambda r: {
        "query": r(1, 2, 3, 4),
        "key": r(1, 2, 3, 4),
        "value": r(1, 2, 3, 4),
    },
    "_pack_padded_sequence": _packed,
    "_reshape_copy": lambda r: {"self": r(2, 3), "size": [3, 2]},
    "_reshape_alias": lambda r: {"self": r(2, 3), "size": [3, 2], "stride": [2, 1]},
    "slice_inverse": lambda r: {"self": r(2), "src": r(4)[:2], "dim": 0, "start": 0, "end": 2, "step": 1},
    "slice_scatter": lambda r: {"self": r(4), "src": r(2), "dim": 0, "start": 0, "end": 2, "step": 1},
    "atan2": lambda r: {"self": r(3) - 0.5, "other": r(3)},
    "special_zeta": lambda r: {"self": r(3) + 2, "other": r(3) + 1},
    "special_zeta.self_scalar": lambda r: {"self": 2.5, "other": r(3) + 1},
    "min": lambda r: {"self": r(2, 3)},
    "max": lambda r: {"self": r(2, 3)},
    "squeeze_.dims": lambda r: {"self": r(1, 2, 1), "dim": [0, 2]},
    "as_strided_": lambda r: {"self": r(2, 3), "size": [3, 2], "stride": [1, 3], "storage_offset": None},
    "max_unpool2d": lambda r: {"self": r(1, 2, 2), "indices": _places(2, 2, 2), "output_size": [3, 3]},
    "max_unpool3d": lambda r: {
        "self": r(1, 2, 2, 2),
        "indices": _places(3, 2, 2, 2),
        "output_size": [3, 3, 3],
        "stride": [2, 2, 2],
        "padding": [0, 0, 0],
    },
    "affine_grid_generator": lambda r: {"theta": r(2, 2, 3), "size": [2, 1, 2, 3], "align_corners": False},
    "poisson": lambda r: {"self": r(3)},
    "_standard_gamma": lambda r: {"self": r(3) + 1},
    "norm.ScalarOpt_dim_dtype": lambda r: {**_norm(r), "dim": [1], "keepdim": False},
    "norm.ScalarOpt_dtype": _norm,
    "fake_quantize_per_tensor_affine_cachemask": lambda r: {"self": r(4), "scale": 0.1, "zero_point": 0, **_LEVELS},
    "fake_quantize_per_channel_affine_cachemask": lambda r: {"self": r(2, 3), "axis": 0, **_scales(r(2).float())},
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _fake_quantized,
    "_foreach_pow.ScalarAndTensor": lambda r: {"self": 1.5, "exponent": [r(2), r(3)]},
}


def recipe_points(described: Described, random: Any) -> list[Point]:
    """The points of an operator by its recipe, none where there is no recipe.

    Args:
        described: a function of the operator.
        random: a generator of random numbers.
    """
    import torch

    recipe = RECIPES.get(described.operator) or LAYOUTS.get(described.operator) or SINGLE.get(described.operator)
    if recipe is None:
        return []
    dtype = torch.float32 if described.operator in SINGLE else torch.float64

    def numbers(*shape: int) -> Any:
        return (torch.rand(shape, generator=random, dtype=torch.float64) * 0.8 + 0.2).to(dtype)

    values = recipe(numbers)
    defaults = {argument.name: argument.default_value for argument in overload_of(described.operator)._schema.arguments}
    return [Point([values.get(each.name, defaults.get(each.name)) for each in described.arguments], "recipe")]
