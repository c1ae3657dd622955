"""Inputs for operators that take single precision only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Random = Callable[..., Any]
Recipe = Callable[[Random], dict[str, Any]]

_GRID = {"interpolation_mode": 0, "padding_mode": 0, "align_corners": False}
_LEVELS = {"quant_min": 0, "quant_max": 7}
_MOVES2 = {"padding": [0, 0], "stride": [1, 1], "dilation": [1, 1], "groups": 1}


def _rnn(r: Random) -> dict[str, Any]:
    size, inputs, batch, steps = 2, 2, 1, 3
    return {
        "input": r(steps, batch, inputs),
        "weight0": r(4 * size, inputs),
        "weight1": r(4 * size, size),
        "weight2": r(4 * size),
        "weight3": r(4 * size),
        "hx_": r(batch, size),
        "cx_": r(batch, size),
        "reverse": False,
        "batch_sizes": [],
        # an LSTM
        "mode": 2,
        "hidden_size": size,
        "num_layers": 1,
        "has_biases": True,
        "bidirectional": False,
        "batch_first": False,
        "train": True,
    }


def _observed(r: Random) -> dict[str, Any]:
    import torch

    return {
        "self": r(2, 3),
        "observer_on": torch.zeros(1, dtype=torch.int64),
        "fake_quant_on": torch.ones(1, dtype=torch.int64),
        "running_min": r(1) * 0,
        "running_max": r(1) + 1,
        "scale": r(1) / 10,
        "zero_point": torch.zeros(1, dtype=torch.int32),
        "averaging_const": 0.1,
        "ch_axis": 0,
        **_LEVELS,
    }


def _channels(r: Random) -> dict[str, Any]:
    scale = r(2) / 10
    return {"self": r(2, 3), "scale": scale, "zero_point": scale * 0, "axis": 0, **_LEVELS, "grad_factor": 1.0}


def _learnable(r: Random) -> dict[str, Any]:
    scale = r(1) / 10
    return {"self": r(4), "scale": scale, "zero_point": scale * 0, **_LEVELS, "grad_factor": 1.0}


SINGLE: dict[str, Recipe] = {
    "_grid_sampler_2d_cpu_fallback": lambda r: {"input": r(1, 1, 3, 3), "grid": r(1, 2, 2, 2) - 0.5, **_GRID},
    "_grid_sampler_2d_cpu_fallback_backward": lambda r: {
        "grad_output": r(1, 1, 2, 2),
        "input": r(1, 1, 3, 3),
        "grid": r(1, 2, 2, 2) - 0.5,
        **_GRID,
    },
    # its strides have to be multiples of 16 bytes
    "_grouped_mm": lambda r: {"self": r(2, 4, 4), "mat2": r(2, 4, 4)},
    "_fake_quantize_learnable_per_channel_affine": _channels,
    "_fake_quantize_learnable_per_tensor_affine": _learnable,
    "_fused_moving_avg_obs_fq_helper": _observed,
    "mkldnn_convolution": lambda r: {"self": r(1, 2, 4, 4), "weight": r(3, 2, 2, 2), "bias": r(3), **_MOVES2},
    "to_mkldnn": lambda r: {"self": r(2, 3)},
    "_mkldnn_reshape": lambda r: {"self": r(2, 3).to_mkldnn(), "shape": [3, 2]},
    "mkldnn_linear": lambda r: {"self": r(2, 3).to_mkldnn(), "weight": r(4, 3), "bias": r(4)},
    "mkldnn_adaptive_avg_pool2d": lambda r: {"self": r(1, 1, 4, 4).to_mkldnn(), "output_size": [2, 2]},
    "mkldnn_rnn_layer": _rnn,
}
